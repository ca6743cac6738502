/* SPDX-License-Identifier: MIT
** What must be so of gradients and updates of every compiled model, whatever its numbers: the
** same bits for any number of workers, sums over sequences and calls, an update by ranges.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "facts_model.h"
#include "strata.h"

/* == Gradients ============================================================ */

/* Gradients of one residual with some workers, or as a checked build. */
static float *gradients(const char *residual, int workers, How how, int64_t *count) {
    int32_t ids[B * T], targets[B * T];
    draw_tokens(ids, B * T, 3), draw_tokens(targets, B * T, 4);
    FactsModel b;
    facts_open(&b, residual, rope, "1e-6", workers, how);
    stir(&b);
    run_gradients(&b, ids, targets, 0);
    *count = b.c.model->gradients;
    float *copy = malloc((size_t)*count * sizeof *copy);
    memcpy(copy, b.r.train.at, (size_t)*count * sizeof *copy);
    facts_close(&b);
    return copy;
}

static void workers_and_checks_do_not_change_a_bit(void **s) {
    (void)s;
    for (int i = 4; i < RESIDUALS; i += i < 10 ? 3 : 1) {
        int64_t n, same;
        float *one = gradients(residuals[i], 1, TRAINS, &n);
        for (int how = 0; how < 3; how++) {
            float *other = gradients(residuals[i], how == 2 ? 1 : 2 + how,
                                     how == 2 ? CHECKED : TRAINS, &same);
            assert_true(n == same && !memcmp(one, other, (size_t)n * sizeof *one));
            free(other);
        }
        free(one);
    }
}

enum { MANY = 25 }; /* sequences that take two tasks: weights are then packed before */

/* Tokens in several chunks: logits have the bits of sequences alone, gradients are their sum. */
static void chunks_of_tokens(void **s) {
    (void)s;
    static float all[MANY * T * VOCAB], one[T * VOCAB];
    int32_t ids[MANY * T], targets[MANY * T];
    strata_loss loss = { .struct_size = sizeof loss };
    FactsModel b;
    draw_tokens(ids, MANY * T, 31), draw_tokens(targets, MANY * T, 32);
    facts_open_for(&b, MANY * T, "haares { block_size = 4 }", rope, "1e-6", 2, TRAINS);
    stir(&b);
    run_logits(&b, ids, MANY, T, all);
    const strata_api *a = &b.c.api;
    size_t bytes = (size_t)b.c.model->gradients * sizeof(float);
    float *whole = malloc(bytes);
    assert_int_equal(a->forward_backward(b.r.ctx.at, b.r.weights.at, b.r.train.at, b.r.arena.at,
                                         ids, targets, MANY, T, 1, 0, NULL, NULL, &loss),
                     0);
    memcpy(whole, b.r.train.at, bytes);
    for (int i = 0; i < MANY; i++) {
        run_logits(&b, ids + i * T, 1, T, one);
        assert_memory_equal(one, all + i * T * VOCAB, sizeof one);
        assert_int_equal(a->forward_backward(b.r.ctx.at, b.r.weights.at, b.r.train.at, b.r.arena.at,
                                             ids + i * T, targets + i * T, 1, T, 1.0f / MANY,
                                             i ? STRATA_ACCUMULATE : 0, NULL, NULL, &loss),
                         0);
    }
    assert_true(difference(b.r.train.at, whole, b.c.model->gradients) < 3e-5);
    free(whole);
    facts_close(&b);
}

static void one_source_gives_its_query_no_gradient(void **s) {
    (void)s;
    int32_t ids[B * T], targets[B * T];
    draw_tokens(ids, B * T, 3), draw_tokens(targets, B * T, 4);
    for (int i = 5; i <= 7; i += 2) { /* attnres and haares */
        FactsModel b;
        facts_open(&b, residuals[i], rope, "1e-6", 1, TRAINS);
        stir(&b);
        run_gradients(&b, ids, targets, 0);
        const float *g = instance_gradient(&b.r, "layers.0.attention.residual.query");
        const float *later = instance_gradient(&b.r, "layers.2.mlp.residual.query");
        double sum = 0;
        for (int k = 0; k < 40; k++) {
            assert_true(g[k] == 0);
            sum += fabs(later[k]);
        }
        assert_true(sum > 0);
        facts_close(&b);
    }
}

/* == The optimizer's side ================================================= */

typedef struct Ranges {
    int64_t next, total;
} Ranges;

static int32_t take_range(void *user, int64_t first, int64_t count) {
    Ranges *r = user;
    if (first != r->next || count < 1) return 1;
    r->next = first + count;
    return 0;
}

static void gradients_add_up_and_become_final_in_order(void **s) {
    (void)s;
    int32_t ids[B * T], targets[B * T];
    draw_tokens(ids, B * T, 3), draw_tokens(targets, B * T, 4);
    FactsModel b;
    facts_open(&b, "haares { blocks = 2 }", rope, "1e-6", 2, TRAINS);
    stir(&b);
    int64_t n = b.c.model->gradients;
    float *once = malloc((size_t)n * sizeof *once), *g = b.r.train.at;
    run_gradients(&b, ids, targets, 0);
    memcpy(once, g, (size_t)n * sizeof *once);
    run_gradients(&b, ids, targets, STRATA_ACCUMULATE);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(g[i] - 2.0 * once[i]) <= 1e-5 * (1e-3 + fabs(once[i])));
    Ranges r = { 0, n };
    assert_int_equal(b.c.api.forward_backward(b.r.ctx.at, b.r.weights.at, g, b.r.arena.at, ids,
                                              targets, B, T, 1, 0, take_range, &r, NULL),
                     STRATA_OK);
    assert_int_equal(r.next, n);
    assert_memory_equal(g, once, (size_t)n * sizeof *once);
    free(once);
    facts_close(&b);
}

static void an_update_by_ranges_is_the_update(void **s) {
    (void)s;
    int32_t ids[B * T], targets[B * T];
    draw_tokens(ids, B * T, 3), draw_tokens(targets, B * T, 4);
    float *result[2];
    int64_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        FactsModel b;
        facts_open(&b, "attnres { blocks = 2 }", rope, "1e-6", 1 + pass, TRAINS);
        n = b.c.model->gradients;
        strata_adamw how = instance_adamw(0.5, 1);
        memset(b.r.train.at, 0, (size_t)(3 * n) * sizeof(float));
        run_gradients(&b, ids, targets, 0);
        guarded_writable(&b.r.weights, true);
        int64_t cut = pass ? n / 3 + 1 : n;
        assert_int_equal(
            b.c.api.update(b.r.ctx.at, b.r.weights.at, b.r.train.at, cut, n - cut, &how),
            STRATA_OK);
        assert_int_equal(b.c.api.update(b.r.ctx.at, b.r.weights.at, b.r.train.at, 0, cut, &how),
                         STRATA_OK);
        result[pass] = malloc((size_t)n * sizeof(float));
        memcpy(result[pass], b.r.weights.at, (size_t)n * sizeof(float));
        facts_close(&b);
    }
    assert_memory_equal(result[0], result[1], (size_t)n * sizeof(float));
    free(result[0]), free(result[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_and_checks_do_not_change_a_bit),
        cmocka_unit_test(chunks_of_tokens),
        cmocka_unit_test(one_source_gives_its_query_no_gradient),
        cmocka_unit_test(gradients_add_up_and_become_final_in_order),
        cmocka_unit_test(an_update_by_ranges_is_the_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
