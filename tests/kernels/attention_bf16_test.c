/* SPDX-License-Identifier: MIT
** Attention whose products take bfloat16.  Beside plain loops that round where it says
** it does: a number that lies, to float32's rounding, between two bfloat16s may become
** the other one, and with more keys than a tile has, probabilities are rounded relative
** to another maximum; so few elements are far off, and a typical one is not.  A kernel
** that does not round is as far off everywhere as these are at worst.
*/
#include "kernel_test.h"
#include "attention_shaped_case.h"

static const Size sizes[] = {
    { 1, 1, 1, 1, 1, 1, 1, 0 },
    { 2, 1, 2, 1, 5, 3, 0, 0 },
    { 1, 2, 1, 1, 8, 8, 1, 0 },
    { 3, 7, 2, 2, 16, 16, 1, 0 },
    { 1, 17, 3, 3, 60, 60, 1, 0 },
    { 2, 33, 4, 2, 32, 48, 1, 0 },
    { 1, 64, 1, 1, 64, 20, 0, 0 },
    { 2, 50, 4, 2, 24, 20, 0, 7 },
    { 2, 7, 2, 1, 8, 8, 1, 9 },
    { 3, 41, 4, 2, 20, 12, 1, 4 },
    { 2, 3, 2, 2, 8, 16, 0, 8 },
    /* several tiles, the smallest of which have 64 keys, or blocks of queries */
    { 5, 65, 1, 1, 8, 24, 1, 0 },
    { 1, 96, 1, 1, 64, 20, 0, 0 },
    { 1, 97, 2, 1, 64, 64, 1, 0 },
    { 1, 200, 6, 2, 20, 20, 0, 0 },
    { 1, 193, 2, 2, 80, 80, 1, 0 },
    { 1, 300, 1, 1, 128, 128, 1, 0 },
    { 2, 130, 8, 1, 7, 9, 1, 0 },
    { 1, 260, 1, 1, 33, 65, 0, 0 },
    { 1, 289, 4, 4, 31, 17, 1, 0 },
    { 1, 450, 3, 1, 16, 24, 1, 3 },
    { 1, 70, 1, 1, 200, 150, 1, 0 },
    { 8, 515, 2, 1, 8, 8, 1, 0 }, /* a forward task has many panels */
};
enum { SIZES = sizeof sizes / sizeof *sizes, ONE_TILE = 11 };

static void check(const char *what, int size, Distance d) {
    if (d.worst > 2e-2 || (size < ONE_TILE && typical(d) > 6e-5) || typical(d) > 2e-3)
        fail_msg("%s of size %d: off by %g, typically %g", what, size, d.worst, typical(d));
}

static void both_are_right(void **state) {
    (void)state;
    for (int i = 0; i < 2 * SIZES; i++) {
        Problem p = problem_with(1, sizes[i / 2], 100 + (uint64_t)i, i % 2 ? AFTER : BEFORE);
        run_forward(&p.a, p.scratch);
        check("output", i / 2, forward_distance(&p.a));
        run_backward(&p);
        check("gradients", i / 2, backward_distance(&p));
        problem_free(&p);
    }
}

/* The same of scores that are shaped: of one tile, and of several. */
static void shaped_are_right(void **state) {
    (void)state;
    static const Size some[] = { { 3, 60, 2, 1, 24, 20, 1, 0 }, { 1, 289, 4, 2, 40, 33, 1, 0 } };
    for (int i = 0; i < 2 * SHAPINGS; i++) {
        Shaping x = shapings[i / 2];
        ShapedProblem r = shaped_new(shaped_size(some[i % 2], x), x, 700 + (uint64_t)i, AFTER);
        r.p.a.bf16 = 1;
        run_forward(&r.p.a, r.p.scratch);
        check("output", i % 2 ? ONE_TILE : 0, forward_distance(&r.p.a));
        run_backward(&r.p);
        check("gradients", i % 2 ? ONE_TILE : 0, backward_distance(&r.p));
        shaped_free(&r);
    }
}

/* What rounding does is more than what may be off. */
static void not_rounding_is_noticed(void **state) {
    (void)state;
    Problem p = problem_new((Size){ 3, 41, 4, 2, 20, 12, 1, 0 }, 300, AFTER);
    run_forward(&p.a, p.scratch);
    run_backward(&p);
    p.a.bf16 = 1;
    assert_true(typical(forward_distance(&p.a)) > 2e-4);
    assert_true(typical(backward_distance(&p)) > 2e-4);
    problem_free(&p);
}

static void batch_does_not_change_bits(void **state) {
    (void)state;
    check_batches(1);
}

static void later_tokens_do_not_change_bits(void **state) {
    (void)state;
    check_later_tokens(1);
}

static void large_scores_are_right(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        Problem p = problem_with(1, (Size){ 2, 61, 4, 2, 16, 16, 1, 0 }, 800, AFTER);
        p.a.scale = i ? 1000.0f : -1000.0f;
        run_forward(&p.a, p.scratch);
        assert_true(forward_error(&p.a) < 2e-2);
        problem_free(&p);
    }
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_right),
        cmocka_unit_test(shaped_are_right),
        cmocka_unit_test(not_rounding_is_noticed),
        cmocka_unit_test(batch_does_not_change_bits),
        cmocka_unit_test(later_tokens_do_not_change_bits),
        cmocka_unit_test(large_scores_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
