/* SPDX-License-Identifier: MIT
** What must be so of every compiled model, whatever its numbers: the same bits in any batch,
** decoding like the full pass, identities between mixers; and what it tells and refuses.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "facts_model.h"
#include "strata.h"

/* == Results ============================================================== */

/* A state for each sequence, fed by prefill and decode; histories differ. */
static void check_decoding(FactsModel *b) {
    static float full[B * T * VOCAB], step[B * VOCAB];
    int32_t ids[B * T], next[B];
    size_t bytes = b->c.api.state_bytes(CONTEXT);
    void *state[B];
    int at[B] = { 1, 4, 7 };
    draw_tokens(ids, B * T, 5);
    run_logits(b, ids, B, T, full);
    for (int i = 0; i < B; i++) {
        state[i] = aligned_alloc(STRATA_ALIGN, (bytes + 63) / 64 * 64);
        assert_int_equal(b->c.api.state_init(b->r.ctx.at, state[i], CONTEXT), STRATA_OK);
        assert_int_equal(b->c.api.prefill(b->r.ctx.at, b->r.weights.at, state[i], b->r.arena.at,
                                          ids + i * T, at[i], step),
                         STRATA_OK);
        assert_true(difference(step, full + (i * T + at[i] - 1) * VOCAB, VOCAB) < 3e-5);
    }
    for (; at[B - 1] < T;) {
        for (int i = 0; i < B; i++)
            next[i] = ids[i * T + at[i]];
        assert_int_equal(
            b->c.api.decode(b->r.ctx.at, b->r.weights.at, state, B, b->r.arena.at, next, step),
            STRATA_OK);
        for (int i = 0; i < B; i++, at[i - 1]++)
            assert_true(difference(step + i * VOCAB, full + (i * T + at[i]) * VOCAB, VOCAB) < 3e-5);
    }
    for (int i = 0; i < B; i++)
        free(state[i]);
}

static void decoding_agrees_with_the_full_pass(void **s) {
    (void)s;
    for (int i = 0; i < RESIDUALS; i++) {
        FactsModel b;
        facts_open(&b, residuals[i], i % 2 ? rope : "bias = true", "1e-6", 2, FORWARD_ONLY);
        stir(&b);
        check_decoding(&b);
        facts_close(&b);
    }
}

static void a_sequence_alone_equals_itself_in_a_batch(void **s) {
    (void)s;
    static float all[B * T * VOCAB], one[T * VOCAB];
    int32_t ids[B * T];
    draw_tokens(ids, B * T, 9);
    for (int i = 0; i < RESIDUALS; i++) {
        FactsModel b;
        facts_open(&b, residuals[i], rope, "1e-6", 1, FORWARD_ONLY);
        stir(&b);
        run_logits(&b, ids, B, T, all);
        for (int k = 0; k < B; k++) {
            run_logits(&b, ids + k * T, 1, T, one);
            assert_memory_equal(one, all + k * T * VOCAB, sizeof one);
        }
        facts_close(&b);
    }
}

static void compare_models(const char *x, const char *y, const char *eps, double tolerance) {
    static float a[B * T * VOCAB], b[B * T * VOCAB];
    int32_t ids[B * T];
    FactsModel p, q;
    draw_tokens(ids, B * T, 21);
    facts_open(&p, x, rope, eps, 1, FORWARD_ONLY), facts_open(&q, y, rope, eps, 1, FORWARD_ONLY);
    run_logits(&p, ids, B, T, a), run_logits(&q, ids, B, T, b);
    double far = difference(a, b, B * T * VOCAB);
    if (!(far < tolerance)) print_message("%s and %s: %g\n", x, y, far);
    assert_true(far < tolerance);
    facts_close(&p), facts_close(&q);
}

static void identities_between_mixers(void **s) {
    (void)s;
    compare_models("attnres { blocks = 2 }", "standard {}", "1e-12", 1e-4); /* queries are 0 */
    compare_models("attnres { block_size = 1 }", "attnres { full = true }", "1e-6", 1e-7);
    compare_models("haares { blocks = 2, bias = -1e4 }", "attnres { blocks = 2 }", "1e-6", 1e-5);
}

/* == What is told ========================================================= */

/* "linear_back_512x128": an operation and sizes, that nobody has to read from the name. */
static void check_says_what_its_name_does(const strata_model *m, const strata_kernel *k) {
    char name[200];
    const char *operation = strata_string(m, k->operation);
    int at = snprintf(name, sizeof name, "%s", operation);
    if (!strcmp(operation, "row")) {
        assert_string_equal(strata_string(m, k->family), "row");
        assert_int_equal(k->sizes, 0);
        return;
    }
    for (int i = 0; i < k->sizes; i++)
        at += snprintf(name + at, sizeof name - (size_t)at, "%c%lld", i ? 'x' : '_',
                       (long long)k->size[i]);
    assert_string_equal(strata_string(m, k->name), name);
}

/* What bench measures prefill against: the work of a pass, in a build that trains too, of which
** the head's product is for the last token only. */
static void kernels_tell_the_work_of_a_pass(void **state) {
    (void)state;
    for (int i = 0; i < RESIDUALS; i++) {
        FactsModel b;
        const char *residual = residuals[i];
        facts_open(&b, residual, rope, "1e-6", 1, i % 2 ? TRAINS : FORWARD_ONLY);
        const strata_model *m = b.c.model;
        double flops = 0;
        int64_t calls = 0, trained = 0;
        for (int k = 0; k < m->kernels; k++) {
            const strata_kernel *x = &strata_kernels(m)[k];
            assert_int_equal((x->used & STRATA_DECODE) != 0, x->forward.calls != 0);
            assert_int_equal((x->used & (STRATA_FORWARD | STRATA_BACKWARD)) != 0,
                             x->training.calls != 0);
            assert_true(x->forward.last_flops <= x->forward.flops_per_token
                        && x->training.last_flops == 0);
            check_says_what_its_name_does(m, x);
            if (!strcmp(strata_string(m, x->operation), "linear") && x->size[0] == 31)
                assert_true(x->forward.last_flops == x->forward.flops_per_token);
            flops += x->forward.flops_per_token + x->forward.flops_per_pair * (CONTEXT + 1) / 2.0;
            calls += x->forward.calls, trained += x->training.calls;
        }
        assert_true(m->flops_forward > 0 && (i % 2 ? trained > 2 * calls : !trained));
        if (fabs(flops - m->flops_forward) > 1e-9 * flops)
            fail_msg("%s: expected %g FLOPs per token, found %g", residual, m->flops_forward,
                     flops);
        facts_close(&b);
    }
}

/* == Refusals ============================================================= */

static void what_is_wrong_is_a_status(void **s) {
    (void)s;
    int32_t ids[CONTEXT + 1] = { 0 };
    static float out[(CONTEXT + 1) * VOCAB];
    FactsModel b;
    facts_open(&b, "standard {}", rope, "1e-6", 1, TRAINS);
    strata_api *a = &b.c.api;
    void *ctx = b.r.ctx.at, *w = b.r.weights.at, *arena = b.r.arena.at;
    assert_int_equal(a->logits(ctx, w, arena, ids, 1, CONTEXT + 1, out), STRATA_ERROR_ARGUMENT);
    assert_non_null(strstr(a->message(ctx), "25"));
    assert_int_equal(a->logits(ctx, w, arena, ids, 0, 1, out), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->logits(ctx, NULL, arena, ids, 1, 1, out), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->logits(ctx, w, (char *)arena + 4, ids, 1, 1, out), STRATA_ERROR_ARGUMENT);
    ids[1] = VOCAB;
    assert_int_equal(a->logits(ctx, w, arena, ids, 1, 2, out), STRATA_ERROR_ARGUMENT);
    assert_non_null(strstr(a->message(ctx), "[0,1] is 31"));
    ids[1] = -1;
    assert_int_equal(a->logits(ctx, w, arena, ids, 1, 2, out), STRATA_ERROR_ARGUMENT);
    ids[1] = 0;
    size_t bytes = (a->state_bytes(2) + 63) / 64 * 64;
    void *state = aligned_alloc(STRATA_ALIGN, bytes);
    memset(state, 0, bytes);
    assert_int_equal(a->prefill(ctx, w, state, arena, ids, 1, out), STRATA_ERROR_STATE);
    assert_int_equal(a->state_init(ctx, state, 2), STRATA_OK);
    assert_int_equal(a->prefill(ctx, w, state, arena, ids, 3, out), STRATA_ERROR_FULL);
    assert_int_equal(a->prefill(ctx, w, state, arena, ids, 2, out), STRATA_OK);
    assert_int_equal(a->decode(ctx, w, &state, 1, arena, ids, out), STRATA_ERROR_FULL);
    assert_int_equal(a->state_bytes(CONTEXT + 1), 0);
    assert_int_equal(a->init(ctx, 64, NULL), STRATA_ERROR_ARGUMENT);
    free(state);
    facts_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_agrees_with_the_full_pass),
        cmocka_unit_test(a_sequence_alone_equals_itself_in_a_batch),
        cmocka_unit_test(identities_between_mixers),
        cmocka_unit_test(kernels_tell_the_work_of_a_pass),
        cmocka_unit_test(what_is_wrong_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
