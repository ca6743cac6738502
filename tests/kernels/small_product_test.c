/* SPDX-License-Identifier: MIT
** Products with small weights, of 8 and of 4 bits: each element is, bit for bit, the chain that
** small_product.c says, computed here from the codes one by one; nothing is read or written past
** the ends; a row's bits are its own, whatever rows and columns it is computed with.
*/
#include "kernel_test.h"

#include <math.h>

#include "f16.h"
#include "small_product.h"

/* Rows beyond tiles of 16, 12, 8, 4, 2 and 1; columns and steps that are no whole panels or
** groups. */
static const struct {
    int64_t n, m, k;
} sizes[] = { { 1, 1, 1 },    { 1, 16, 32 },  { 2, 17, 33 },  { 3, 5, 31 },    { 4, 48, 64 },
              { 7, 40, 96 },  { 13, 33, 1 },  { 12, 16, 70 }, { 31, 20, 130 }, { 1, 64, 960 },
              { 32, 16, 32 }, { 51, 33, 64 }, { 50, 40, 97 } };
enum { SIZES = sizeof sizes / sizeof *sizes, GAP = 5 };

/* == A matrix ============================================================= */

typedef struct Matrix {
    SmallWeights w;
    Guarded at;
} Matrix;

static uint16_t some_half(Draw *d) {
    /* subnormal ones too; both signs */
    return (uint16_t)(draw(d) % 0x4000 | (draw(d) & 1) << 15);
}

static Matrix matrix_new(Draw *d, int64_t m, int64_t k, int bits) {
    Guarded at = guard_bytes(small_bytes(m, k, bits), AFTER);
    uint8_t *p = (uint8_t *)at.at;
    for (int64_t panel = 0; panel * PANEL_COLUMNS < m; panel++, p += small_panel(k, bits)) {
        int64_t codes = small_groups(k) * small_codes(bits);
        for (int64_t i = 0; i < codes; i++)
            p[i] = (uint8_t)draw(d);
        for (int64_t i = codes; i < codes + small_groups(k) * small_scales(bits); i += 2) {
            uint16_t half = some_half(d);
            memcpy(p + i, &half, sizeof half);
        }
    }
    guard_readonly(at);
    return (Matrix){ { (uint8_t *)at.at, m, k, bits }, at };
}

static const uint8_t *panel_of(const SmallWeights *w, int64_t column) {
    return w->at + column / PANEL_COLUMNS * small_panel(w->steps, w->bits);
}

static int code_of(const SmallWeights *w, int64_t column, int64_t step) {
    int upper;
    uint8_t byte = panel_of(w,
                            column)[small_code_at(step, column % PANEL_COLUMNS, w->bits, &upper)];
    return w->bits == 8 ? byte - CODE_OF_ZERO : upper ? byte >> 4 : byte & 15;
}

/* Number 0 of a group is its scale, number 1 its smallest value. */
static float half_of(const SmallWeights *w, int64_t column, int64_t group, int number) {
    uint16_t half;
    memcpy(&half,
           panel_of(w, column) + small_scale_at(w->steps, group, column % PANEL_COLUMNS, w->bits)
               + number * 2 * PANEL_COLUMNS,
           sizeof half);
    return f16_value(half);
}

/* == What is right ======================================================== */

static float add_product(float a, float b, float c) {
#if LANES == 4
    return a * b + c;
#else
    return fmaf(a, b, c);
#endif
}

/* What a group adds to an element. */
static float with_group(float sum, const SmallWeights *w, int64_t column, int64_t s,
                        const float *x) {
    int64_t n = w->steps - s < GROUP ? w->steps - s : GROUP;
    float most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[s + i]));
    bool nothing = most <= 1e-30f;
    float inverse = nothing ? 0 : 127.0f / most, scale = nothing ? 0 : most / 127.0f;
    int32_t dot = 0, all = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t code = (int32_t)rintf(x[s + i] * inverse);
        dot += code * code_of(w, column, s + i);
        all += code;
    }
    sum = add_product((float)dot, half_of(w, column, s / GROUP, 0) * scale, sum);
    if (w->bits == 8) return sum;
    return add_product(half_of(w, column, s / GROUP, 1), scale * (float)all, sum);
}

static float element(const SmallWeights *w, int64_t column, const float *x) {
    float sum = 0;
    for (int64_t s = 0; s < w->steps; s += GROUP)
        sum = with_group(sum, w, column, s, x);
    return sum;
}

static Guarded some_rows(Draw *d, int64_t n, int64_t k, Side side) {
    Guarded x = guard_matrix(n, k, k + GAP, side);
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < k; i++)
            x.at[r * (k + GAP) + i] = draw(d) % 50 ? draw_real(d) : 40 * draw_real(d);
    /* a group of zeros, and one of numbers that are as good as that */
    for (int64_t i = 0; i < k && i < GROUP; i++)
        x.at[i] = n > 1 ? (float)(i % 2) * 1e-38f : x.at[i];
    guard_readonly(x);
    return x;
}

/* == Tests ================================================================ */

static void expect_same(float got, float right) {
    if (memcmp(&got, &right, sizeof got) && !(got == 0 && right == 0))
        fail_msg("found %a, expected %a", got, right);
}

static void check_size(Draw *d, int64_t n, int64_t m, int64_t k, int bits, Side side, int add) {
    Matrix w = matrix_new(d, m, k, bits);
    Guarded x = some_rows(d, n, k, side), y = guard_matrix(n, m, m + GAP, side),
            scratch = guard_bytes(k_small_scratch(k), AFTER);
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < m; c++)
            y.at[r * (m + GAP) + c] = add ? 3 : NAN;
    /* all columns at once, or a panel at a time */
    for (int64_t c = 0, end; c < m; c = end) {
        end = side == BEFORE || m - c < PANEL_COLUMNS ? m : c + PANEL_COLUMNS;
        k_linear_small(n, c, end, (SmallRows){ x.at, 0, k + GAP }, &w.w,
                       (Result){ y.at, 0, m + GAP, add }, scratch.at);
    }
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < m; c++) {
            float right = element(&w.w, c, x.at + r * (k + GAP));
            expect_same(y.at[r * (m + GAP) + c], add ? 3 + right : right);
        }
    guard_free(w.at), guard_free(x), guard_free(y), guard_free(scratch);
}

static void elements_are_their_chains(void **state) {
    (void)state;
    Draw d = { 1 };
    for (int i = 0; i < 8 * SIZES; i++)
        check_size(&d, sizes[i / 8].n, sizes[i / 8].m, sizes[i / 8].k, i % 2 ? 8 : 4,
                   i / 2 % 2 ? BEFORE : AFTER, i / 4 % 2);
}

/* More rows than are rounded at once: as each of them by itself. */
static void many_rows_are_as_one(void **state) {
    (void)state;
    enum { N = 300, M = 19, K = 1100 };
    Draw d = { 2 };
    for (int bits = 4; bits <= 8; bits += 4) {
        Matrix w = matrix_new(&d, M, K, bits);
        Guarded x = some_rows(&d, N, K, AFTER), y = guard_matrix(N, M, M, AFTER),
                one = guard_matrix(1, M, M, AFTER),
                scratch = guard_bytes(k_small_scratch(K), AFTER);
        k_linear_small(N, 0, M, (SmallRows){ x.at, 0, K + GAP }, &w.w, (Result){ y.at, 0, M, 0 },
                       scratch.at);
        for (int64_t r = 0; r < N; r++) {
            k_linear_small(1, 0, M, (SmallRows){ x.at + r * (K + GAP), 0, K + GAP }, &w.w,
                           (Result){ one.at, 0, M, 0 }, scratch.at);
            assert_memory_equal(one.at, y.at + r * M, M * sizeof(float));
        }
        guard_free(w.at), guard_free(x), guard_free(y), guard_free(one), guard_free(scratch);
    }
}

/* Of bfloat16, and to it. */
static void bfloat16_goes_in_and_out(void **state) {
    (void)state;
    enum { N = 5, M = 37, K = 75 };
    Draw d = { 3 };
    Matrix w = matrix_new(&d, M, K, 8);
    Guarded x = guard_matrix(N, K, K, AFTER), y = guard_matrix(N, M, M, AFTER),
            narrow = guard_bytes(N * K * 2, AFTER), result = guard_bytes(N * M * 2, AFTER),
            scratch = guard_bytes(k_small_scratch(K), AFTER);
    uint16_t *halves = (uint16_t *)narrow.at, *results = (uint16_t *)result.at;
    for (int64_t i = 0; i < N * K; i++) {
        uint32_t bits;
        float value = draw_real(&d);
        memcpy(&bits, &value, sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
        bits &= 0xffff0000u;
        memcpy(&x.at[i], &bits, sizeof bits);
    }
    guard_readonly(narrow);
    k_linear_small(N, 0, M, (SmallRows){ x.at, 0, K }, &w.w, (Result){ y.at, 0, M, 0 }, scratch.at);
    k_linear_small(N, 0, M, (SmallRows){ 0, halves, K }, &w.w, (Result){ 0, results, M, 0 },
                   scratch.at);
    for (int64_t i = 0; i < N * M; i++) {
        uint32_t bits = (uint32_t)results[i] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        assert_true(fabsf(value - y.at[i]) <= fabsf(y.at[i]) * 0x1p-8f);
    }
    guard_free(w.at), guard_free(x), guard_free(y), guard_free(narrow), guard_free(result);
    guard_free(scratch);
}

/* A number that is none, or infinite, is not lost. */
static void what_is_not_finite_stays_so(void **state) {
    (void)state;
    enum { M = 16, K = 64 };
    Draw d = { 4 };
    Matrix w = matrix_new(&d, M, K, 8);
    Guarded y = guard_matrix(1, M, M, AFTER), scratch = guard_bytes(k_small_scratch(K), AFTER);
    float x[K] = { 0 };
    for (int i = 0; i < 2; i++) {
        x[40] = i ? INFINITY : NAN;
        k_linear_small(1, 0, M, (SmallRows){ x, 0, K }, &w.w, (Result){ y.at, 0, M, 0 },
                       scratch.at);
        for (int c = 0; c < M; c++)
            assert_false(isfinite(y.at[c]));
    }
    guard_free(w.at), guard_free(y), guard_free(scratch);
}

static void rows_of_tables_are_read(void **state) {
    (void)state;
    Draw d = { 5 };
    for (int i = 0; i < 2 * SIZES; i++) {
        int64_t m = sizes[i / 2].m, k = sizes[i / 2].k;
        Matrix w = matrix_new(&d, m, k, i % 2 ? 8 : 4);
        Guarded y = guard_matrix(3, k, k + GAP, AFTER);
        int32_t ids[] = { 0, (int32_t)m - 1, (int32_t)draw_below(&d, m) };
        k_embed_small(3, &w.w, ids, y.at, k + GAP);
        for (int t = 0; t < 3; t++)
            for (int64_t s = 0; s < k; s++) {
                float scale = half_of(&w.w, ids[t], s / GROUP, 0);
                float code = (float)code_of(&w.w, ids[t], s);
                expect_same(y.at[t * (k + GAP) + s],
                            w.w.bits == 8
                                ? scale * code
                                : add_product(scale, code, half_of(&w.w, ids[t], s / GROUP, 1)));
            }
        guard_free(w.at), guard_free(y);
    }
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_their_chains), cmocka_unit_test(many_rows_are_as_one),
        cmocka_unit_test(bfloat16_goes_in_and_out),  cmocka_unit_test(what_is_not_finite_stays_so),
        cmocka_unit_test(rows_of_tables_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
