/* SPDX-License-Identifier: MIT
** What ends the answers of a generator, how they go on, and what becomes of a slot and of the
** sequences beside one that fails.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wishes.h"

/* == Ends ================================================================= */

/* What a greedy answer of 'most' tokens is, by these settings; how it ended. */
static char *answer(const SequenceSettings *how, int64_t most, SequencePhase *end) {
    Generator *g = wish_slots(&wish_session[FULL], 1);
    Wish want = { "the ", most, *how };
    Writing w = wish_begin(g, &want);
    do {
        wish_check(generator_step(g, &wish_error));
        *end = w.x->phase;
    } while (wish_take(&w));
    generator_close(g);
    assert_non_null(w.text.at);
    return w.text.at;
}

static void answers_end(void **state) {
    (void)state;
    SequenceSettings how = wish[0].how;
    SequencePhase end;
    char stop[8], ended[40], *text = answer(&how, 24, &end);
    assert_int_equal(end, SEQUENCE_LENGTH);
    assert_int_equal(strlen(text), 24); /* a byte each */
    const char *const list[] = { "never", stop };
    how.stop = list, how.stops = 2;
    for (int from = 0; from < 20; from++) /* a text of four tokens */
        for (int wrong = 0; wrong < 2; wrong++) {
            snprintf(stop, sizeof stop, "%.4s", text + from);
            if (wrong) stop[3] = '!'; /* begun, but it does not come */
            const char *at = strstr(text, stop);
            char *found = answer(&how, 24, &end);
            snprintf(ended, sizeof ended, "%.*s", at ? (int)(at - text) : 24, text);
            assert_string_equal(found, ended);
            assert_int_equal(end, at ? SEQUENCE_TEXT : SEQUENCE_LENGTH);
            free(found);
        }
    how = wish[0].how;
    for (int from = 0; from < 20; from++) {
        const int32_t token[] = { 0, (unsigned char)text[from] };
        int first = (int)(strchr(text, text[from]) - text);
        how.token = token, how.tokens = 2, how.stop_byte = 0;
        char *found = answer(&how, 24, &end);
        snprintf(ended, sizeof ended, "%.*s", first, text);
        assert_string_equal(found, ended);
        assert_int_equal(end, SEQUENCE_TOKEN);
        free(found);
        how.tokens = 0, how.stop_byte = text[from]; /* part of the answer */
        found = answer(&how, 24, &end);
        snprintf(ended, sizeof ended, "%.*s", first + 1, text);
        assert_string_equal(found, ended);
        assert_int_equal(end, SEQUENCE_TEXT);
        free(found);
    }
    free(text);
}

/* An answer that goes on, and one to the end of the slot. */
static void answers_go_on(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        Session *s = &wish_session[m];
        Wish want = wish[0];
        Generator *g = wish_slots(s, 1);
        want.most = 5;
        Writing w = wish_begin(g, &want);
        for (int part = 0; part < 2; part++) {
            while (w.x->phase == SEQUENCE_WRITES) {
                wish_check(generator_step(g, &wish_error));
                text_bytes(&w.text, w.x->text->at, w.x->text->length);
            }
            assert_int_equal(w.x->phase, SEQUENCE_LENGTH);
            assert_int_equal(sequence_tokens(w.x), part ? s->m->context : 4 + 5);
            wish_check(generator_step(g, &wish_error)); /* which gives nothing to who waits */
            assert_int_equal(w.x->text->length, 0);
            sequence_start(w.x, 1000);
        }
        assert_int_equal(w.x->phase, SEQUENCE_LENGTH);
        want.most = 1000;
        char *text = wish_alone(s, &want);
        wish_same(s, &w, text);
        free(text);
        generator_close(g);
    }
}

/* Reads on and answers, in w->text. */
static void turn(Generator *g, Writing *w, const char *prompt, int64_t most) {
    text_free(&w->text);
    wish_read(w, prompt);
    sequence_start(w->x, most);
    while (w->x->phase == SEQUENCE_WRITES) {
        wish_check(generator_step(g, &wish_error));
        text_bytes(&w->text, w->x->text->at, w->x->text->length);
    }
    wish_check(sequence_finish(w->x, &wish_error));
    text_bytes(&w->text, w->x->text->at, w->x->text->length);
}

/* Turns of a conversation: a text that ended one ends the next only where it comes again. */
static void turns_end_each(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        Generator *g = wish_slots(&wish_session[m], 2);
        Writing plain = { 0 }, ended = { 0 };
        SequenceSettings how = wish[0].how;
        char stop[4];
        const char *const list[] = { stop };
        wish_check(generator_add(g, &plain.x, &how, &wish_error));
        turn(g, &plain, "the ", 12);
        snprintf(stop, sizeof stop, "%.3s", plain.text.at + 3);
        int64_t until = strstr(plain.text.at, stop) + 3 - plain.text.at;
        how.stop = list, how.stops = 1;
        wish_check(generator_add(g, &ended.x, &how, &wish_error));
        turn(g, &ended, "the ", 12);
        assert_int_equal(ended.text.length, until - 3);
        sequence_close(plain.x);
        how.stops = 0;
        wish_check(generator_add(g, &plain.x, &how, &wish_error));
        turn(g, &plain, "the ", until);
        turn(g, &plain, " a", 10);
        turn(g, &ended, " a", 10);
        const char *again = strstr(plain.text.at, stop);
        assert_int_equal(ended.text.length, again ? again - plain.text.at : 10);
        assert_memory_equal(ended.text.at, plain.text.at, ended.text.length);
        text_free(&plain.text), text_free(&ended.text);
        generator_close(g);
    }
}

/* What was there before: nothing, a sequence that left in the middle of its answer, or one that is
** made empty there. */
typedef enum Before { NOTHING, LEFT, RESET, BEFORES } Before;

static Writing begin_after(Generator *g, const Wish *want, Before before) {
    Writing w = wish_begin(g, want);
    if (before == NOTHING) return w;
    wish_check(generator_step(g, &wish_error));
    wish_check(generator_step(g, &wish_error));
    if (before == LEFT) {
        sequence_close(w.x);
        return wish_begin(g, want);
    }
    wish_check(sequence_reset(w.x, want->how.sampling.seed, &wish_error));
    assert_int_equal(sequence_tokens(w.x), 0);
    wish_read(&w, want->prompt);
    sequence_start(w.x, want->most);
    return w;
}

static void slots_are_used_again(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        Session *s = &wish_session[m];
        Generator *g = wish_slots(s, 1);
        for (int i = 0; i < BEFORES * WISHES; i++) {
            const Wish *want = &wish[i % WISHES];
            Writing w = begin_after(g, want, (Before)(i / WISHES));
            Sequence *none;
            assert_int_equal(generator_add(g, &none, &wish[0].how, &wish_error), STATUS_LIMIT);
            assert_string_equal(wish_error.text,
                                "likeliest: expected a free slot, found all 1 taken");
            assert_null(none);
            wish_error = (Error){ 0 };
            do
                wish_check(generator_step(g, &wish_error));
            while (wish_take(&w));
            char *text = wish_alone(s, want);
            wish_same(s, &w, text);
            free(text);
        }
        generator_close(g);
    }
}

/* == What cannot be ======================================================= */

static void says(int status, int expected, const char *text) {
    assert_int_equal(status, expected);
    assert_string_equal(wish_error.text, text);
    wish_error = (Error){ 0 };
}

/* A sequence that fails is told, and those beside it go on. */
static void one_fails_and_others_go_on(void **state) {
    (void)state;
    Session *s = &wish_session[FULL];
    Generator *g = wish_slots(s, 3);
    Sequence *empty;
    wish_check(generator_add(g, &empty, &wish[1].how, &wish_error));
    Writing w = wish_begin(g, &wish[0]);
    sequence_start(empty, 4);
    says(generator_step(g, &wish_error), STATUS_USER,
         "warm: expected a prompt, found an empty sequence");
    assert_int_equal(empty->phase, SEQUENCE_FAILED);
    while (wish_take(&w))
        wish_check(generator_step(g, &wish_error));
    char *text = wish_alone(s, &wish[0]);
    wish_same(s, &w, text);
    free(text);
    int32_t ids[100] = { 0 };
    Sequence *x;
    wish_check(generator_add(g, &x, &wish[2].how, &wish_error));
    says(sequence_read(x, ids, 49, &wish_error), STATUS_USER,
         "cut: expected a sequence of at most 48 tokens, found 49");
    says(sequence_read(x, ids, 0, &wish_error), STATUS_USER,
         "cut: expected at least one token to read, found none");
    wish_check(sequence_read(x, ids, 47, &wish_error)); /* which it can: nothing was read */
    sequence_start(x, 2);
    wish_check(generator_step(g, &wish_error));
    assert_int_equal(x->phase, SEQUENCE_LENGTH);
    says(sequence_read(x, ids, 1, &wish_error), STATUS_USER,
         "cut: expected a sequence of at most 48 tokens, found 49");
    SequenceSettings how = wish[4].how;
    how.stop = (const char *const[]){ "x", "" };
    says(generator_add(g, &x, &how, &wish_error), STATUS_USER,
         "stops: expected a text that ends answers, found ''");
    assert_int_equal(generator_room(g), 1);
    generator_close(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_end),
        cmocka_unit_test(answers_go_on),
        cmocka_unit_test(turns_end_each),
        cmocka_unit_test(slots_are_used_again),
        cmocka_unit_test(one_fails_and_others_go_on),
    };
    return cmocka_run_group_tests(tests, wish_open, wish_close);
}
