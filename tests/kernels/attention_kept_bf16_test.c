/* SPDX-License-Identifier: MIT
** Caches that keep bfloat16 or q8 (kept_rows.h): the bytes that rows become are those of plain
** loops in double; attention to them is that to the numbers that they are, in whatever pieces a
** sequence comes, with rings and scores that are shaped; products of float32 and of bfloat16.
*/
#include "kernel_test.h"
#include "attention_kept.h"
#include "attention_shaped_case.h"

/* == Rows ================================================================= */

static const int64_t widths[] = { 1, 2, 5, 16, 17, 31, 32, 33, 64, 80, 95, 100, 128, 576 };
enum { WIDTHS = sizeof widths / sizeof *widths, ROWS_TRIED = 40 };

/* Sizes from below the smallest scale to above what float16 scales reach, rows of zeros, and
** numbers that lie in the middle between two codes, or one ulp beside it. */
static float draw_number(Draw *d, int row) {
    static const float size[] = { 1, 1e-8f, 3e-6f, 1e-4f, 300, 8e6f, 1e-30f, 0, 1e-38f };
    float x = draw_real(d) * size[row % 9];
    if (row % 4) return x;
    int64_t code = draw_below(d, 254) - 127;
    x = ((float)code + 0.5f) * 0x1p-7f;
    return row % 3 == 1 ? nextafterf(x, 1) : row % 3 == 2 ? nextafterf(x, -1) : x;
}

static Guarded draw_rows(int64_t n, int64_t d, uint64_t seed) {
    Draw from = { seed };
    Guarded g = guard_matrix(n, d, d + GAP, AFTER);
    for (int64_t t = 0; t < n; t++) {
        for (int64_t e = 0; e < d; e++)
            g.at[t * (d + GAP) + e] = draw_number(&from, (int)t);
        /* the largest of a group: a scale of 2^-7 where there are middles */
        for (int64_t e = 0; t % 4 == 0 && e < d; e += KEPT_GROUP)
            g.at[t * (d + GAP) + e] = 127 * 0x1p-7f;
    }
    guard_readonly(g);
    return g;
}

static void expected_bf16(int64_t d, const float *row, uint8_t *to) {
    for (int64_t e = 0; e < d; e++) {
        uint32_t bits;
        memcpy(&bits, &row[e], sizeof bits);
        uint16_t up = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        memcpy(to + 2 * e, &up, sizeof up);
    }
}

static void expected_q8(int64_t d, const float *row, uint8_t *to) {
    for (int64_t e = 0; e < d; e += KEPT_GROUP) {
        int64_t n = d - e < KEPT_GROUP ? d - e : KEPT_GROUP;
        double most = 0;
        for (int64_t i = e; i < e + n; i++)
            most = fmax(most, fabs((double)row[i]));
        uint16_t half = f16_of((float)(most / 127));
        memcpy(to + e / KEPT_GROUP * 2, &half, sizeof half);
        for (int64_t i = e; i < e + n; i++) {
            double scale = (double)f16_value(half), code = scale > 0 ? rint(row[i] / scale) : 0;
            to[kept_scales(d) + i] = (uint8_t)(int8_t)fmin(fmax(code, -127), 127);
        }
    }
}

/* The processor's own rounding takes numbers that are nearly none as zeros. */
static bool is_row_of(int kept, int64_t d, const float *row, const float *right) {
    for (int64_t e = 0; e < d; e++) {
        double x = kept_value(kept, d, row, e), y = kept_value(kept, d, right, e);
        if (x != y && !(kept == KEPT_BF16 && x == 0 && fabs(y) < 0x1p-126)) return false;
    }
    return kept == KEPT_BF16 || !memcmp(row, right, (size_t)kept_floats(kept, d) * sizeof *row);
}

static void rows_are_rounded(void **state) {
    (void)state;
    for (int i = 0; i < 2 * WIDTHS; i++) {
        int kept = i % 2 ? KEPT_Q8 : KEPT_BF16;
        int64_t d = widths[i / 2], ld = kept_floats(kept, d), ldo = (d + LANES - 1) / LANES * LANES;
        Guarded rows = draw_rows(ROWS_TRIED, d, 10 + (uint64_t)i),
                cache = guard_bytes(ROWS_TRIED * ld * 4, AFTER),
                wide = guard_bytes(ROWS_TRIED * ldo * 4, AFTER),
                again = guard_bytes(ROWS_TRIED * ldo * 4, AFTER);
        float *right = calloc((size_t)ld, sizeof *right);
        memset(cache.at, 0xff, (size_t)(ROWS_TRIED * ld * 4));
        k_keep_rows(kept, ROWS_TRIED, d, rows.at, d + GAP, cache.at);
        guard_readonly(cache);
        for (int64_t t = 0; t < ROWS_TRIED; t++) {
            (kept == KEPT_Q8 ? expected_q8 : expected_bf16)(d, rows.at + t * (d + GAP),
                                                            (uint8_t *)right);
            if (!is_row_of(kept, d, cache.at + t * ld, right))
                fail_msg("kept %d, width %d: row %d is another", kept, (int)d, (int)t);
        }
        for (int bf16 = 0; bf16 < 2; bf16++) {
            Attention a = { .bf16 = bf16 };
            k_kept_rows(kept, bf16, ROWS_TRIED, d, cache.at, wide.at);
            k_rows_as_kept(kept, bf16, ROWS_TRIED, d, rows.at, d + GAP, again.at);
            assert_memory_equal(wide.at, again.at, (size_t)(ROWS_TRIED * ldo * 4));
            for (int64_t k = 0; k < ROWS_TRIED * ldo; k++) {
                double x = k % ldo < d ? kept_value(kept, d, cache.at + k / ldo * ld, k % ldo) : 0;
                x = kept == KEPT_Q8 ? factor_of(&a, x) : x;
                if (wide.at[k] != x && !(bf16 && wide.at[k] == 0 && fabs(x) < 0x1p-126))
                    fail_msg("kept %d, width %d: %g is widened to %g", kept, (int)d, x,
                             (double)wide.at[k]);
            }
        }
        free(right);
        guard_free(rows), guard_free(cache), guard_free(wide), guard_free(again);
    }
}

/* What is no number stays none, and so does what has no scale. */
static void what_is_no_number_is_noticed(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++) {
        float row[40], kept[40], wide[48];
        int type = i % 2 ? KEPT_Q8 : KEPT_BF16;
        for (int e = 0; e < 40; e++)
            row[e] = 1;
        row[3] = i < 2 ? NAN : i < 4 ? INFINITY : -3e38f;
        k_keep_rows(type, 1, 40, row, 40, kept);
        k_kept_rows(type, 0, 1, 40, kept, wide);
        assert_true(type == KEPT_Q8 || i >= 2 ? !(fabsf(wide[3]) < 1e38f) : isnan(wide[3]));
        assert_true(fabsf(wide[35] - 1) < 1e-2f);
    }
}

/* == Attention ============================================================ */

static void same_as(const char *what, const Attention *a, const float *got, const Attention *full,
                    int i) {
    Distance d = { 0 };
    for (int64_t t = 0; t < full->time; t++)
        for (int64_t j = 0; j < a->heads * a->dv; j++)
            add_distance(&d, full->o[t * full->ldo + j], got[t * a->ldo + j]);
    /* probabilities are rounded relative to another maximum */
    if (d.worst > (a->bf16 ? 4e-2 : 4e-6) || typical(d) > (a->bf16 ? 3e-3 : 4e-7))
        fail_msg("%s, kept %d, bf16 %d, problem %d: off by %g, typically %g", what, a->kept,
                 a->bf16, i, d.worst, typical(d));
}

/* What the full pass computes of rows rounded as a cache keeps them, token by token, in chunks
** longer than a window and shorter. */
static void pieces_agree_with_the_full_pass(void **state) {
    (void)state;
    static const int64_t chunk[] = { 40, 1, 1, 3, 1, 154, 5, 1, 2, 4, 6, 97, 1, 1, 0 };
    for (int i = 0; i < 4 * (SHAPINGS + 2); i++) {
        int at = i / 4;
        Shaping x = at < SHAPINGS ? shapings[at] : (Shaping){ 0 };
        Size s = shaped_size((Size){ 1, 317, 4, at % 3 ? 2 : 1, 40, at % 2 ? 33 : 64, 1, 0 }, x);
        ShapedProblem r = shaped_new(s, x, 17 + (uint64_t)at, AFTER);
        r.p.a.shaped = at < SHAPINGS;
        r.p.a.rounded = r.p.a.kept = i % 2 ? KEPT_Q8 : KEPT_BF16;
        r.p.a.bf16 = i / 2 % 2;
        run_forward(&r.p.a, r.p.scratch);
        Attention a = r.p.a;
        ShapedCache c;
        Guarded o = nan_matrix(s.time, s.heads * s.dv, AFTER);
        shaped_cache_open(&c, &a, s.time);
        a.lse = NULL;
        for (int k = 0; chunk[k]; k++)
            shaped_step(&a, &r.p.a, &c, chunk[k], o.at, r.p.scratch);
        assert_int_equal(c.past, s.time);
        same_as("pieces", &a, o.at, &r.p.a, at);
        guard_free(o), shaped_cache_close(&c, &a);
        shaped_free(&r);
    }
}

/* Sequences of other lengths, in a cache: plain loops over what the cache keeps. */
static void caches_are_read_right(void **state) {
    (void)state;
    static const int64_t times[] = { 1, 3, 33 };
    for (int i = 0; i < 24; i++) {
        Size s = { 1,
                   200,
                   6,
                   i % 4 == 1 ? 6 : i % 4 == 2 ? 1 : 2,
                   i % 4 == 3 ? 21 : 32,
                   i % 4 == 1 ? 20 : 64,
                   1,
                   0 };
        ShapedProblem r = shaped_new(s, (Shaping){ 0 }, 300 + (uint64_t)i, AFTER);
        Attention a = r.p.a;
        ShapedCache c;
        a.shaped = 0, a.kept = i % 2 ? KEPT_Q8 : KEPT_BF16, a.bf16 = i / 12;
        shaped_cache_open(&c, &a, s.time);
        shaped_step(&a, &r.p.a, &c, s.time - times[i % 3], r.p.o.at, r.p.scratch);
        int64_t t = c.past;
        a.time = times[i % 3];
        a.q = r.p.a.q + t * a.ldq, a.k = r.p.a.k + t * a.ldk, a.v = r.p.a.v + t * a.ldv;
        a.o = r.p.a.o + t * a.ldo, a.lse = r.p.a.lse + t * a.ldlse;
        k_attention_append(&a, 0);
        run_forward(&a, r.p.scratch);
        Distance d = forward_distance(&a);
        if (d.worst > (a.bf16 ? 2e-2 : 2e-6))
            fail_msg("problem %d: off by %g, typically %g", i, d.worst, typical(d));
        shaped_cache_close(&c, &a);
        shaped_free(&r);
    }
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_rounded),
        cmocka_unit_test(what_is_no_number_is_noticed),
        cmocka_unit_test(pieces_agree_with_the_full_pass),
        cmocka_unit_test(caches_are_read_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
