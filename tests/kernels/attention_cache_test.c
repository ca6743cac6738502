/* SPDX-License-Identifier: MIT
** Attention of new queries to caches: many at once (prefill), a few (decoding),
** after any number of positions.
*/
#include "kernel_test.h"
#include "attention_random_cache.h"

static void append_and_run(const Attention *a, Guarded scratch) {
    for (int64_t b = 0; b < a->sequences; b++)
        k_attention_append(a, b);
    run_forward(a, scratch);
}

static void cached_form_is_right(void **state) {
    (void)state;
    static const int64_t times[] = { 1, 2, 4, 5, 33 };
    static const int64_t past[] = { 0, 1, 95, 200 };
    for (int i = 0; i < 40; i++) {
        Size s = { 4,
                   times[i / 4 % 5],
                   6,
                   i % 4 == 1       ? 6
                       : i % 4 == 2 ? 1
                                    : 2,
                   i % 4 == 3 ? 21 : 32,
                   i % 4 == 1 ? 20 : 64,
                   i >= 20 || i % 4 != 2,
                   i < 20 ? 0 : 1 + i % 7 };
        Problem p = problem_new(s, 300 + (uint64_t)i, AFTER);
        Draw d = { 400 + (uint64_t)i };
        Cache c;
        cache_open(&c, &p.a, 200 + s.time, past, &d);
        append_and_run(&p.a, p.scratch);
        double error = forward_error(&p.a);
        if (error > 2e-6) fail_msg("time %lld, row %d: off by %g", (long long)s.time, i, error);
        cache_close(&c, s.sequences);
        problem_free(&p);
    }
}

/* Token by token, or in chunks, through a cache: the full pass to rounding. */
static void cache_agrees_with_full_pass(void **state) {
    static const int64_t chunk[] = { 40, 1, 1, 3, 1, 54, 1, 0 };
    Size s = { 1, 101, 4, 2, 24, 40, 1, *(const int *)*state };
    Problem p = problem_new(s, 17, AFTER);
    run_forward(&p.a, p.scratch);
    Attention a = p.a;
    Cache c;
    Guarded o = nan_matrix(s.time, s.heads * s.dv, AFTER);
    cache_open(&c, &a, s.time, &(int64_t){ 0 }, &(Draw){ 1 });
    a.lse = NULL;
    for (size_t i = 0; i < sizeof chunk / sizeof *chunk; i++) {
        int64_t t = c.past[0];
        a.time = chunk[i];
        a.q = p.a.q + t * a.ldq;
        a.k = p.a.k + t * a.ldk;
        a.v = p.a.v + t * a.ldv;
        a.o = o.at + t * a.ldo;
        append_and_run(&a, p.scratch);
        c.past[0] += chunk[i];
    }
    assert_int_equal(c.past[0], s.time);
    for (int64_t i = 0; i < s.time; i++)
        for (int64_t j = 0; j < s.heads * s.dv; j++)
            assert_true(fabsf(o.at[i * a.ldo + j] - p.a.o[i * a.ldo + j]) < 2e-6f);
    guard_free(o);
    cache_close(&c, 1);
    problem_free(&p);
}

static void batch_does_not_change_cached_bits(void **state) {
    static const int64_t past[] = { 130, 0, 77 };
    for (int64_t time = 1; time < 40; time += 19) {
        Size s = { 3, time, 4, 2, 32, 24, 1, *(const int *)*state }, single = s;
        single.sequences = 1;
        Problem all = problem_new(s, 600, AFTER);
        Cache c, d;
        cache_open(&c, &all.a, 130 + time, past, &(Draw){ 2 });
        append_and_run(&all.a, all.scratch);
        for (int64_t b = 0; b < 3; b++) {
            Problem one = problem_new(single, 1, AFTER);
            alone(&one, &all, b);
            cache_open(&d, &one.a, 130 + time, past + b, &(Draw){ 3 });
            memcpy(d.key[0], c.key[b], (size_t)(2 * all.a.context * 32 * 4));
            memcpy(d.value[0], c.value[b], (size_t)(2 * all.a.context * 24 * 4));
            run_forward(&one.a, one.scratch);
            same_sequence(&all.a, b, &one.a);
            cache_close(&d, 1);
            problem_free(&one);
        }
        cache_close(&c, 3);
        problem_free(&all);
    }
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    static int positions = 0, chunks = 6; /* keys are positions, or averages of chunks */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_form_is_right),
        cmocka_unit_test_prestate(cache_agrees_with_full_pass, &positions),
        cmocka_unit_test_prestate(cache_agrees_with_full_pass, &chunks),
        cmocka_unit_test_prestate(batch_does_not_change_cached_bits, &positions),
        cmocka_unit_test_prestate(batch_does_not_change_cached_bits, &chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
