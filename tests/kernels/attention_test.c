/* SPDX-License-Identifier: MIT
** Attention over whole sequences, forward and backward, at sizes that are no
** multiple of anything; and the promise that a row's bits depend on nothing but
** the row and what it attends to.
*/
#include "kernel_test.h"
#include "attention_truth.h"

static const Size sizes[] = {
    { 1, 1, 1, 1, 1, 1, 1, 0 },
    { 2, 1, 2, 1, 5, 3, 0, 0 },
    { 1, 2, 1, 1, 8, 8, 1, 0 },
    { 3, 7, 2, 2, 16, 16, 1, 0 },
    { 1, 17, 3, 3, 60, 60, 1, 0 },
    { 2, 33, 4, 2, 32, 48, 1, 0 },
    { 1, 97, 2, 1, 64, 64, 1, 0 },
    { 1, 96, 1, 1, 64, 20, 0, 0 },
    { 5, 65, 1, 1, 8, 24, 1, 0 },
    { 1, 200, 6, 2, 20, 20, 0, 0 },
    { 1, 193, 2, 2, 80, 80, 1, 0 },
    { 1, 300, 1, 1, 128, 128, 1, 0 },
    { 2, 130, 8, 1, 7, 9, 1, 0 },
    { 1, 260, 1, 1, 33, 65, 0, 0 },
    { 1, 289, 4, 4, 31, 17, 1, 0 },
    /* more keys than a task copies: of a pair, and of a range */
    { 4, 170, 1, 1, 200, 196, 1, 0 },
    { 1, 200, 1, 1, 196, 200, 0, 0 },
    /* averages of chunks, and of whole sequences: more of them than tokens, too */
    { 2, 7, 2, 1, 8, 8, 1, 9 },
    { 3, 41, 4, 2, 20, 12, 1, 4 },
    { 1, 300, 2, 2, 33, 16, 1, 1 },
    { 1, 450, 3, 1, 16, 24, 1, 3 },
    { 2, 3, 2, 2, 8, 16, 0, 8 },
    { 1, 1, 1, 1, 5, 7, 0, 150 },
    { 2, 50, 4, 2, 24, 20, 0, 7 },
    { 1, 290, 2, 1, 16, 33, 0, 113 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void forward_is_right(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i < 2 * SIZES; i++) {
        Problem p = problem_new(sizes[i / 2], 100 + (uint64_t)i, i % 2 ? AFTER : BEFORE);
        run_forward(&p.a, p.scratch);
        double error = forward_error(&p.a);
        worst = fmax(worst, error);
        if (error > 2e-6) fail_msg("size %d: off by %g", i / 2, error);
        problem_free(&p);
    }
    printf("forward: worst distance %.2g\n", worst);
}

static void backward_is_right(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i < 2 * SIZES; i++) {
        Problem p = problem_new(sizes[i / 2], 200 + (uint64_t)i, i % 2 ? AFTER : BEFORE);
        run_forward(&p.a, p.scratch);
        run_backward(&p);
        double error = backward_error(&p);
        worst = fmax(worst, error);
        if (error > 4e-6) fail_msg("size %d: off by %g of the largest", i / 2, error);
        problem_free(&p);
    }
    printf("backward: worst relative distance %.2g\n", worst);
}

static void batch_does_not_change_bits(void **state) {
    (void)state;
    check_batches(0);
}

static void later_tokens_do_not_change_bits(void **state) {
    (void)state;
    check_later_tokens(0);
}

/* Scores in the thousands, of either sign: the softmax becomes a choice. */
static void large_scores_are_right(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        Problem p = problem_new((Size){ 2, 111, 4, 2, 16, 16, 1, 0 }, 800, AFTER);
        p.a.scale = i ? 1000.0f : -1000.0f;
        run_forward(&p.a, p.scratch);
        assert_true(forward_error(&p.a) < 1e-2); /* scores themselves are rounded to 1e-4 */
        problem_free(&p);
    }
}

/* A NaN among the keys reaches every row that sees it and no other. */
static void nan_spreads_to_those_who_see_it(void **state) {
    (void)state;
    enum { BAD = 70 };
    Problem p = problem_new((Size){ 1, 150, 1, 1, 16, 16, 1, 0 }, 900, AFTER);
    float *k = malloc(150 * (size_t)p.a.ldk * sizeof *k);
    for (int64_t i = 0; i < 150; i++)
        memcpy(k + i * p.a.ldk, p.a.k + i * p.a.ldk, 16 * sizeof *k);
    k[BAD * p.a.ldk + 3] = NAN;
    p.a.k = k;
    run_forward(&p.a, p.scratch);
    for (int64_t i = 0; i < 150; i++)
        assert_true(!isnan(p.a.o[i * p.a.ldo]) == (i < BAD));
    free(k);
    problem_free(&p);
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_right),
        cmocka_unit_test(backward_is_right),
        cmocka_unit_test(batch_does_not_change_bits),
        cmocka_unit_test(later_tokens_do_not_change_bits),
        cmocka_unit_test(large_scores_are_right),
        cmocka_unit_test(nan_spreads_to_those_who_see_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
