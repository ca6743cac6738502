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

/* == Rows of bfloat16s ==================================================== */

static uint16_t bf16_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Room for a matrix of bfloat16s whose rows lie GAP floats further apart than they are long. */
static Guarded narrow_room(int64_t rows, int64_t columns) {
    return guard_matrix(rows, columns / 2, columns / 2 + GAP, AFTER);
}

/* The floats of m become bfloat16s, and so do those of m, which was to be read only. */
static Guarded narrow_matrix(Guarded m, int64_t rows, int64_t columns) {
    Guarded g = narrow_room(rows, columns);
    guard_writable(m);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float *x = &m.at[i * (columns + GAP) + j];
            uint16_t narrow = bf16_of(*x);
            uint32_t bits = (uint32_t)narrow << 16;
            memcpy(x, &bits, sizeof bits);
            ((uint16_t *)g.at)[2 * i * (columns / 2 + GAP) + j] = narrow;
        }
    guard_readonly(m), guard_readonly(g);
    return g;
}

static void check_narrow(const char *what, const float *wide, const float *narrow, int64_t rows,
                         int64_t columns) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float x = wide[i * (columns + GAP) + j];
            uint16_t got = ((const uint16_t *)narrow)[2 * i * (columns / 2 + GAP) + j];
            if (got != bf16_of(x))
                fail_msg("%s [%lld,%lld]: expected %a rounded, found %04x", what, (long long)i,
                         (long long)j, x, got);
        }
}

static void check_same(const char *what, Guarded a, Guarded b, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; i++)
        if (memcmp(a.at + i * (columns + GAP), b.at + i * (columns + GAP),
                   (size_t)columns * sizeof(float)))
            fail_msg("%s: row %lld has other bits", what, (long long)i);
}

/* Of numbers that are bfloat16s the same bits come out, rounded where they are stored narrow. */
static void check_narrow_size(Size s, uint64_t seed) {
    Problem p = problem_with(1, s, seed, AFTER), x = problem_new(s, seed, AFTER);
    int64_t rows = s.sequences * s.time, hk = (int64_t)s.heads * s.dk, hv = (int64_t)s.heads * s.dv;
    int64_t gk = (int64_t)s.groups * s.dk, gv = (int64_t)s.groups * s.dv;
    Guarded q = narrow_matrix(p.q, rows, hk), k = narrow_matrix(p.k, rows, gk),
            v = narrow_matrix(p.v, rows, gv), dout = narrow_matrix(p.dout, rows, hv),
            o = narrow_room(rows, hv), dq = narrow_room(rows, hk);
    run_forward(&p.a, p.scratch);
    run_backward(&p);
    Attention a = x.a;
    a.bf16 = a.narrow = 1;
    a.q = q.at, a.k = k.at, a.v = v.at, a.dout = dout.at, a.o = o.at, a.dq = dq.at;
    a.ldq = a.lddq = hk / 2 + GAP, a.ldo = a.lddout = hv / 2 + GAP;
    a.ldk = gk / 2 + GAP, a.ldv = gv / 2 + GAP;
    a.delta = p.delta.at;
    run_forward(&a, x.scratch);
    for (int64_t i = k_attention_grad_tasks(&a) - 1; i >= 0; i--)
        k_attention_grad(&a, i, x.scratch.at);
    check_narrow("output", p.o.at, o.at, rows, hv);
    check_narrow("dq", p.dq.at, dq.at, rows, hk);
    check_same("lse", p.lse, x.lse, rows, s.heads);
    check_same("dk", p.dk, x.dk, rows, gk);
    check_same("dv", p.dv, x.dv, rows, gv);
    guard_free(q), guard_free(k), guard_free(v), guard_free(dout), guard_free(o), guard_free(dq);
    problem_free(&p), problem_free(&x);
}

static void narrow_rows_have_the_same_bits(void **state) {
    (void)state;
    static const Size some[] = { { 1, 1, 1, 1, 32, 32, 1, 0 },     { 2, 33, 4, 2, 32, 64, 1, 0 },
                                 { 1, 64, 1, 1, 64, 32, 0, 0 },    { 1, 97, 2, 1, 64, 64, 1, 0 },
                                 { 1, 300, 1, 1, 128, 128, 1, 0 }, { 2, 130, 2, 2, 96, 32, 1, 0 },
                                 { 8, 256, 2, 1, 32, 32, 1, 0 } };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        check_narrow_size(some[i], 900 + i);
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
        cmocka_unit_test(narrow_rows_have_the_same_bits),
        cmocka_unit_test(batch_does_not_change_bits),
        cmocka_unit_test(later_tokens_do_not_change_bits),
        cmocka_unit_test(large_scores_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
