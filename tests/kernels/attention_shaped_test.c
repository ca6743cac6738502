/* SPDX-License-Identifier: MIT
** Attention whose scores are shaped: windows, caps, tables by distance, values that are channels of
** keys; alone and together, forward and backward, with caches that are rings.
*/
#include "kernel_test.h"
#include "attention_shaped_case.h"

static const Size sizes[] = {
    { 1, 1, 1, 1, 1, 1, 1, 0 },     { 2, 2, 2, 1, 5, 3, 1, 0 },     { 3, 7, 2, 2, 16, 16, 0, 0 },
    { 2, 33, 4, 2, 32, 48, 1, 0 },  { 1, 97, 2, 1, 64, 64, 1, 0 },  { 1, 193, 2, 2, 24, 8, 1, 0 },
    { 1, 300, 1, 1, 40, 36, 1, 0 }, { 2, 130, 8, 1, 7, 9, 1, 0 },   { 1, 260, 1, 1, 33, 65, 0, 0 },
    { 1, 600, 2, 1, 20, 12, 1, 0 }, { 7, 150, 1, 1, 96, 80, 1, 0 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void both_are_right(void **state) {
    (void)state;
    double far_forward = 0, far_back = 0;
    for (int i = 0; i < SIZES * SHAPINGS; i++) {
        Shaping x = shapings[i % SHAPINGS];
        ShapedProblem r = shaped_new(shaped_size(sizes[i / SHAPINGS], x), x, 100 + (uint64_t)i,
                                     i % 2 ? AFTER : BEFORE);
        run_forward(&r.p.a, r.p.scratch);
        double forward = forward_error(&r.p.a);
        run_backward(&r.p);
        double back = backward_error(&r.p);
        if (forward > 3e-6 || back > 6e-6)
            fail_msg("size %d, shaping %d: off by %g, gradients by %g of the largest", i / SHAPINGS,
                     i % SHAPINGS, forward, back);
        far_forward = fmax(far_forward, forward), far_back = fmax(far_back, back);
        shaped_free(&r);
    }
    printf("worst distances %.2g, %.2g\n", far_forward, far_back);
}

/* A sequence has the same bits alone, where gradients come from other tasks. */
static void batch_does_not_change_bits(void **state) {
    (void)state;
    for (int i = 0; i < SHAPINGS; i++) {
        Size s = shaped_size((Size){ 3, 300, 2, 2, 20, 16, 1, 0 }, shapings[i]), single = s;
        single.sequences = 1;
        ShapedProblem all = shaped_new(s, shapings[i], 500, AFTER);
        run_forward(&all.p.a, all.p.scratch), run_backward(&all.p);
        for (int64_t b = 0; b < 3; b++) {
            ShapedProblem one = shaped_new(single, shapings[i], 1, AFTER);
            alone(&one.p, &all.p, b);
            Attention *a = &one.p.a, *of = &all.p.a;
            if (a->distances) a->by_distance = of->by_distance + b * s.time * of->lddistance;
            run_forward(a, one.p.scratch), run_backward(&one.p);
            same_sequence(of, b, a);
            if (a->distances)
                same_rows(s.time, s.heads * (a->one_table ? 1 : a->distances),
                          of->ddistance + b * s.time * of->ldddistance, of->ldddistance,
                          a->ddistance, a->ldddistance);
            shaped_free(&one);
        }
        shaped_free(&all);
    }
}

/* Token by token, in chunks longer than a window and shorter: the full pass to rounding. */
static void cache_agrees_with_full_pass(void **state) {
    (void)state;
    static const int64_t chunk[] = { 40, 1, 1, 3, 1, 154, 5, 1, 2, 4, 6, 97, 1, 1, 0 };
    for (int i = 0; i < SHAPINGS; i++) {
        Shaping x = shapings[i];
        Size s = shaped_size((Size){ 1, 317, 4, i % 3 ? 2 : 1, 24, 40, 1, 0 }, x);
        ShapedProblem r = shaped_new(s, x, 17, AFTER);
        run_forward(&r.p.a, r.p.scratch);
        Attention a = r.p.a;
        ShapedCache c;
        Guarded o = nan_matrix(s.time, s.heads * s.dv, AFTER);
        shaped_cache_open(&c, &a, s.time);
        assert_true(!a.ring == (!x.window || x.window > 300));
        a.lse = NULL;
        for (int k = 0; chunk[k]; k++)
            shaped_step(&a, &r.p.a, &c, chunk[k], o.at, r.p.scratch);
        assert_int_equal(c.past, s.time);
        for (int64_t t = 0; t < s.time; t++)
            for (int64_t j = 0; j < s.heads * s.dv; j++)
                if (!(fabsf(o.at[t * a.ldo + j] - r.p.a.o[t * a.ldo + j]) < 4e-6f))
                    fail_msg("shaping %d, token %d: %g, in the full pass %g", i, (int)t,
                             (double)o.at[t * a.ldo + j], (double)r.p.a.o[t * a.ldo + j]);
        guard_free(o), shaped_cache_close(&c, &a);
        shaped_free(&r);
    }
}

enum { PAST = 131, STEP = 3 };

/* The last STEP tokens of 'whole', with what came before in a cache, of 'count' heads from h on. */
static void last_of_heads(const Attention *whole, int h, int count, float *o, Guarded scratch) {
    Attention a = *whole, part;
    ShapedCache c;
    a.heads = count, a.q += h * a.dk, a.workers = count % 3, part = a;
    shaped_cache_open(&c, &a, PAST + STEP);
    shaped_step(&a, &part, &c, PAST, o, scratch);
    shaped_step(&a, &part, &c, STEP, o, scratch);
    shaped_cache_close(&c, &a);
}

/* Many heads of one group are several tasks, and some at a time: a head has the bits that it has
** alone, or beside any number of others. */
static void heads_do_not_change_bits(void **state) {
    (void)state;
    enum { HEADS = 40 };
    Shaping x = { 0, 0, 0, 1, 0 };
    Size s = { 1, PAST + STEP, HEADS, 1, 150, 140, 1, 0 };
    ShapedProblem r = shaped_new(s, x, 3, AFTER);
    Attention a = r.p.a;
    Guarded all = nan_matrix(s.time, s.heads * s.dv, AFTER),
            some = nan_matrix(s.time, s.heads * s.dv, AFTER);
    a.lse = NULL;
    last_of_heads(&a, 0, HEADS, all.at, r.p.scratch);
    a.time = STEP, a.heads = HEADS, a.keys = &r.p.a.dq;
    for (a.workers = 1; a.workers <= 64; a.workers *= 2)
        assert_int_equal(k_attention_tasks(&a), a.workers <= 8 ? 8 : 30);
    a = r.p.a, a.lse = NULL;
    for (int h = 0, count = 1; h + count <= HEADS; h += count++) {
        last_of_heads(&a, h, count, some.at, r.p.scratch);
        same_rows(STEP, count * s.dv, all.at + PAST * a.ldo + h * s.dv, a.ldo,
                  some.at + PAST * a.ldo, a.ldo);
    }
    guard_free(all), guard_free(some);
    shaped_free(&r);
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_right),
        cmocka_unit_test(batch_does_not_change_bits),
        cmocka_unit_test(cache_agrees_with_full_pass),
        cmocka_unit_test(heads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
