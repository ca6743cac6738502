/* SPDX-License-Identifier: MIT
** The generator on compiled models: what a sequence becomes is the same alone and beside others, in
** one generator and in several, whatever its settings are.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "wishes.h"

/* == At once ============================================================== */

/* Two begin at different steps. */
static void check_two(Session *s, const Wish *first, const Wish *second, char *const *expected) {
    Generator *g = wish_slots(s, 2);
    Writing a = wish_begin(g, first), b = { 0 };
    bool going = true;
    for (int i = 0; going; i++) {
        if (i == 3) b = wish_begin(g, second);
        wish_check(generator_step(g, &wish_error));
        bool more = wish_take(&a);
        going = wish_take(&b) || more || i < 3;
    }
    wish_same(s, &a, expected[0]);
    wish_same(s, &b, expected[1]);
    assert_int_equal(generator_room(g), 2);
    generator_close(g);
}

static void two_sequences_are_what_each_is_alone(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        char *text[WISHES];
        for (int i = 0; i < WISHES; i++)
            text[i] = wish_alone(&wish_session[m], &wish[i]);
        for (int i = 0; i < WISHES; i++)
            for (int k = 0; k < WISHES; k++)
                check_two(&wish_session[m], &wish[i], &wish[k], (char *[]){ text[i], text[k] });
        for (int i = 0; i < WISHES; i++)
            free(text[i]);
    }
}

/* Twice as many slots as a call of the model takes sequences, and more sequences than slots: each
** begins where another has left. */
static void more_sequences_than_a_call_takes(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        Session *s = &wish_session[m];
        int32_t slots = 2 * (int32_t)s->m->chunk, all = slots + WISHES, next = slots, left = all;
        Generator *g = wish_slots(s, slots);
        Writing *w = calloc((size_t)all, sizeof *w);
        assert_non_null(w);
        char *text[WISHES];
        for (int i = 0; i < WISHES; i++)
            text[i] = wish_alone(s, &wish[i]);
        for (int i = 0; i < slots; i++)
            w[i] = wish_begin(g, &wish[i % WISHES]);
        while (left) {
            wish_check(generator_step(g, &wish_error));
            for (int i = 0, last = next; i < last; i++) {
                if (!w[i].x || wish_take(&w[i])) continue;
                wish_same(s, &w[i], text[i % WISHES]);
                if (next < all) w[next] = wish_begin(g, &wish[next % WISHES]), next++;
                left--;
            }
        }
        assert_int_equal(generator_room(g), slots);
        generator_close(g);
        for (int i = 0; i < WISHES; i++)
            free(text[i]);
        free(w);
    }
}

/* == Several generators =================================================== */

/* A second session of the model, with weights of its own. */
static void open_twin(Session *s, const Session *of) {
    wish_check(session_beside(s, of->api, of, &wish_error));
    wish_check(session_weights(s, &wish_error));
    memcpy(session_write_weights(s), session_w(of), (size_t)of->m->weights_bytes);
}

static void generators_take_turns(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        enum { GENERATORS = 3 };
        Session twin, *const s[GENERATORS] = { &wish_session[m], &wish_session[m], &twin };
        Generator *g[GENERATORS];
        Writing w[GENERATORS] = { 0 };
        open_twin(&twin, &wish_session[m]);
        for (int i = 0; i < GENERATORS; i++) {
            g[i] = wish_slots(s[i], 1 + i);
            w[i] = wish_begin(g[i], &wish[3 + i]);
        }
        for (int going = GENERATORS; going;)
            for (int i = 0; i < GENERATORS; i++) {
                if (!w[i].x) continue;
                wish_check(generator_step(g[i], &wish_error));
                going -= !wish_take(&w[i]);
            }
        for (int i = 0; i < GENERATORS; i++) {
            char *text = wish_alone(&wish_session[m], &wish[3 + i]);
            wish_same(s[i], &w[i], text);
            generator_close(g[i]);
            free(text);
        }
        session_close(&twin);
    }
}

/* Each is written by the one and proposed by the other. */
static void drafts_change_no_text(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++)
        for (int i = 0; i + 1 < WISHES; i++) {
            Session *s = &wish_session[m];
            Wish with = wish[i], other = wish[i + 1];
            int64_t proposed, held;
            with.how.draft = &wish_session[(m + 1) % MODELS];
            char *text[] = { wish_alone(s, &wish[i]), wish_alone(s, &wish[i + 1]) };
            check_two(s, &with, &other, text);
            other.how.draft = s;
            check_two(s, &other, &with, (char *[]){ text[1], text[0] });
            Generator *g = wish_slots(s, 1);
            Writing w = wish_begin(g, &with);
            for (bool going = true; going; going = w.x->phase == SEQUENCE_WRITES)
                wish_check(generator_step(g, &wish_error));
            draft_counts(w.x->draft, &proposed, &held);
            assert_true(proposed > 0 || with.most < 2);
            generator_close(g);
            free(text[0]), free(text[1]);
        }
}

/* == Tokens that the caller names ========================================= */

static int32_t likeliest(const float *logits) {
    int32_t best = 0;
    for (int32_t v = 1; v < wish_session[0].m->vocab; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

/* Reading goes on behind the last token, whether the model has read that or not yet. */
static void check_reads_on(Generator *g, Sequence *x) {
    const int32_t more[] = { ' ', 'a' };
    Sequence *y;
    sequence_append(x, 'b');
    wish_check(generator_add(g, &y, &x->how, &wish_error));
    wish_check(sequence_copy(y, x, &wish_error));
    assert_int_equal(y->unread, 'b');
    wish_check(sequence_read(y, more, 2, &wish_error));
    wish_check(generator_advance(g, &wish_error));
    assert_int_equal(x->unread, -1);
    wish_check(sequence_read(x, more, 2, &wish_error));
    assert_int_equal(sequence_tokens(x), sequence_tokens(y));
    assert_memory_equal(x->slot->logits, y->slot->logits,
                        (size_t)x->slot->s->m->vocab * sizeof(float));
    sequence_close(y);
}

/* Copies of one prompt: one is drawn, and one is told the same tokens and has the same logits. */
static void copies_go_on(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        Session *s = &wish_session[m];
        const SequenceSettings told = { .name = "told", .told = true };
        char *text = wish_alone(s, &wish[0]);
        Generator *g = wish_slots(s, 3);
        Writing base = { 0 }, drawn = { .wish = &wish[0] };
        Sequence *follows;
        wish_check(generator_add(g, &base.x, &told, &wish_error));
        wish_check(generator_add(g, &drawn.x, &wish[0].how, &wish_error));
        wish_check(generator_add(g, &follows, &told, &wish_error));
        wish_read(&base, wish[0].prompt);
        wish_check(sequence_copy(drawn.x, base.x, &wish_error));
        wish_check(sequence_copy(follows, base.x, &wish_error));
        sequence_start(drawn.x, wish[0].most);
        for (int i = 0; i < wish[0].most; i++) {
            assert_int_equal(likeliest(follows->slot->logits), (unsigned char)text[i]);
            sequence_append(follows, (unsigned char)text[i]);
            wish_check(generator_step(g, &wish_error));
            wish_take(&drawn);
        }
        wish_same(s, &drawn, text);
        check_reads_on(g, follows);
        wish_check(generator_add(g, &drawn.x, &wish[3].how, &wish_error)); /* it has a penalty */
        assert_int_equal(sequence_copy(drawn.x, base.x, &wish_error), STATUS_INTERNAL);
        wish_error = (Error){ 0 };
        generator_close(g);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_sequences_are_what_each_is_alone),
        cmocka_unit_test(more_sequences_than_a_call_takes),
        cmocka_unit_test(generators_take_turns),
        cmocka_unit_test(drafts_change_no_text),
        cmocka_unit_test(copies_go_on),
    };
    return cmocka_run_group_tests(tests, wish_open, wish_close);
}
