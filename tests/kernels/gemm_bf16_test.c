/* SPDX-License-Identifier: MIT
** Products of bfloat16 against plain loops: what product_test.h asks of all, and how
** weights are rounded.  Nothing is asked of the order of a block's steps: there are
** kernels that add two products at once.
*/
#include "kernel_test.h"
#include "product_test.h"

/* Products of bfloat16 are exact in float32, with or without fused multiply-adds. */
static const Numbers numbers = { .bf16 = true,
                                 .units = 1,
                                 .scratch = k_gemm_bf16_scratch,
                                 .packing = KERNEL_PAIRS ? PACKED_PAIRS : PACKED_FLOATS };

static void run_part(const Product *p, int64_t i0, int64_t i1, int64_t j0, int64_t j1, float *c) {
    const uint16_t *a = as_bf16(p->a);
    const float *b = p->b.at;
    float *scratch = p->scratch.at;
    switch (p->kind) {
    case LINEAR:
    case BACK:
        k_linear_bf16(i1 - i0, j1 - j0, p->steps, a + i0 * p->lda, p->lda,
                      (Weights){ p->kind == BACK ? b + j0 : b + j0 * p->ldb, NULL, p->ldb },
                      p->kind == BACK, (Result){ c + i0 * p->ldc + j0, NULL, p->ldc, p->add },
                      scratch);
        break;
    case WEIGHT:
        k_linear_weight_bf16(p->steps, i0, i1, j0, j1, a, p->lda, as_bf16(p->b), p->ldb, c, p->ldc,
                             p->add, scratch);
        break;
    default:
        k_linear_few_bf16(i1 - i0, j0, j1, p->steps, a + i0 * p->lda, p->lda, b, p->ldb,
                          (Result){ c + i0 * p->ldc, NULL, p->ldc, p->add }, scratch);
        break;
    }
}

static void pack(const Product *p, int64_t block, float *packed) {
    k_pack_bf16(p->columns, p->steps, (Weights){ p->b.at, NULL, p->ldb }, p->kind == BACK, block,
                packed, p->scratch.at);
}

static void multiply_packed(const Product *p, int64_t i0, int64_t i1, const float *packed,
                            float *c) {
    k_multiply_bf16(i1 - i0, p->columns, p->steps, as_bf16(p->a) + i0 * p->lda, p->lda, packed,
                    (Result){ c + i0 * p->ldc, NULL, p->ldc, p->add }, p->scratch.at);
}

/* == Weights that are bfloat16 ============================================ */

static void run_bf16_weights(const Product *p, Guarded b, float *c) {
    k_linear_bf16(p->rows, p->columns, p->steps, as_bf16(p->a), p->lda,
                  (Weights){ NULL, as_bf16(b), p->ldb }, p->kind == BACK,
                  (Result){ c, NULL, p->ldc, p->add }, p->scratch.at);
}

/* Packed in exactly the room there is for it. */
static void run_packed_bf16_weights(const Product *p, Guarded b, float *c) {
    Guarded packed = room(packed_floats(p->columns, p->steps, 2 * LANES, numbers.packing)
                              * (int64_t)sizeof(float),
                          p->side);
    for (int64_t n = 0; n < (p->columns + BLOCK - 1) / BLOCK; n++)
        k_pack_bf16(p->columns, p->steps, (Weights){ NULL, as_bf16(b), p->ldb }, p->kind == BACK, n,
                    packed.at, p->scratch.at);
    multiply_packed(p, 0, p->rows, packed.at, c);
    guard_free(packed);
}

/* B rounded, with what lies between its rows, in its own guarded memory. */
static Guarded bf16_matrix(const Product *p) {
    Guarded b = matrix(b_rows(p), b_columns(p), p->ldb, true, p->side);
    for (int64_t i = 0; i < b_rows(p); i++)
        for (int64_t j = 0; j < (i + 1 < b_rows(p) ? p->ldb : b_columns(p)); j++)
            put(b, true, i * p->ldb + j, p->b.at[i * p->ldb + j]);
    guard_readonly(b);
    return b;
}

/* The bits are those of weights that are rounded in the product. */
static void weights_may_be_bf16(void **state) {
    (void)state;
    Draw d = { 8 };
    for (int round = 0; round < 150; round++) {
        Kind kind = round % 2 ? LINEAR : BACK;
        int64_t most = round % 4 ? 70 : 600;
        Product p = product_new(kind, 1 + draw_below(&d, 40), 1 + draw_below(&d, most),
                                1 + draw_below(&d, most), round % 5, (int)draw_below(&d, 2),
                                (Side)draw_below(&d, 2), &d, REAL);
        Guarded b = bf16_matrix(&p);
        float *got = c_copy(&p), *packed = c_copy(&p);
        run_bf16_weights(&p, b, got);
        run_packed_bf16_weights(&p, b, packed);
        run_all(&p, p.c.at);
        assert_same_bits(&p, p.c.at, got);
        assert_same_bits(&p, p.c.at, packed);
        free(got);
        free(packed);
        guard_free(b);
        product_free(&p);
    }
}

static void run_few_bf16_weights(const Product *p, Guarded b, int64_t i0, int64_t i1, int64_t j0,
                                 int64_t j1, float *c) {
    k_linear_few_bf16_weights(i1 - i0, j0, j1, p->steps, as_bf16(p->a) + i0 * p->lda, p->lda,
                              as_bf16(b), p->ldb, (Result){ c + i0 * p->ldc, NULL, p->ldc, p->add },
                              p->scratch.at);
}

/* Few rows of x take pairs of steps; the bits are the same row by row and column by column. */
static void few_rows_take_pairs(void **state) {
    (void)state;
    Draw d = { 9 };
    for (int round = 0; round < 120; round++) {
        int64_t most = round % 4 ? 70 : 600;
        int64_t rows = 1 + draw_below(&d, round % 8 ? 40 : 150),
                steps = 1 + draw_below(&d, round % 7 ? most : 2500);
        if (round % 24 == 23) rows = 1 + rows / 8, steps += 8000; /* more than are laid out */
        Product p = product_new(FEW, rows, 1 + draw_below(&d, most), steps, round % 5,
                                (int)draw_below(&d, 2), (Side)draw_below(&d, 2), &d, REAL);
        Guarded b = bf16_matrix(&p);
        float *before = c_copy(&p), *parts = c_copy(&p);
        run_few_bf16_weights(&p, b, 0, p.rows, 0, p.columns, p.c.at);
        check_product(&p, before, numbers.units);
        for (int64_t i = 0; i < p.rows; i++) {
            int64_t cut = draw_below(&d, p.columns + 1);
            run_few_bf16_weights(&p, b, i, i + 1, 0, cut, parts);
            run_few_bf16_weights(&p, b, i, i + 1, cut, p.columns, parts);
        }
        assert_same_bits(&p, p.c.at, parts);
        free(before);
        free(parts);
        guard_free(b);
        product_free(&p);
    }
}

/* == Results that are bfloat16 ============================================ */

/* What lies between rows stays; all of it is the other's result, rounded. */
static void assert_narrowed(const Product *p, const float *floats, const uint16_t *got,
                            const char *how) {
    for (int64_t i = 0; p->columns > 0 && i < p->rows; i++)
        for (int64_t j = 0; j < (i + 1 < p->rows ? p->ldc : p->columns); j++) {
            uint16_t right = j < p->columns ? narrow(floats[i * p->ldc + j]) : 0x1234;
            if (got[i * p->ldc + j] != right)
                fail_msg("%s, kind %d, %ld x %ld x %ld: (%ld, %ld) is %04x, expected %04x", how,
                         p->kind, (long)p->rows, (long)p->columns, (long)p->steps, (long)i, (long)j,
                         got[i * p->ldc + j], right);
        }
}

static Guarded bf16_results(const Product *p) {
    Guarded y = room(c_floats(p) * (int64_t)sizeof(uint16_t), p->side);
    for (int64_t i = 0; i < c_floats(p); i++)
        as_bf16(y)[i] = 0x1234;
    return y;
}

static void run_narrow(const Product *p, Result y) {
    if (p->kind == FEW)
        k_linear_few_bf16(p->rows, 0, p->columns, p->steps, as_bf16(p->a), p->lda, p->b.at, p->ldb,
                          y, p->scratch.at);
    else
        k_linear_bf16(p->rows, p->columns, p->steps, as_bf16(p->a), p->lda,
                      (Weights){ p->b.at, NULL, p->ldb }, p->kind == BACK, y, p->scratch.at);
}

static void run_packed_narrow(const Product *p, Result y) {
    Guarded packed = room(packed_floats(p->columns, p->steps, 2 * LANES, numbers.packing)
                              * (int64_t)sizeof(float),
                          p->side);
    for (int64_t n = 0; n < (p->columns + BLOCK - 1) / BLOCK; n++)
        pack(p, n, packed.at);
    k_multiply_bf16(p->rows, p->columns, p->steps, as_bf16(p->a), p->lda, packed.at, y,
                    p->scratch.at);
    guard_free(packed);
}

static void results_may_be_bf16(void **state) {
    (void)state;
    Draw d = { 10 };
    for (int round = 0; round < 150; round++) {
        static const Kind kinds_of_result[] = { LINEAR, BACK, FEW };
        Kind kind = kinds_of_result[round % 3];
        int64_t most = round % 4 ? 70 : 600;
        Product p = product_new(kind, 1 + draw_below(&d, kind == FEW ? 12 : most),
                                1 + draw_below(&d, most), 1 + draw_below(&d, most), round % 5, 0,
                                (Side)draw_below(&d, 2), &d, REAL);
        Guarded y = bf16_results(&p);
        run_all(&p, p.c.at);
        run_narrow(&p, (Result){ NULL, as_bf16(y), p.ldc, 0 });
        assert_narrowed(&p, p.c.at, as_bf16(y), "as it comes");
        guard_free(y);
        y = bf16_results(&p);
        if (kind != FEW) {
            run_packed_narrow(&p, (Result){ NULL, as_bf16(y), p.ldc, 0 });
            assert_narrowed(&p, p.c.at, as_bf16(y), "packed");
        }
        guard_free(y);
        product_free(&p);
    }
}

/* == Weights are rounded ================================================== */

/* Numbers about which rounding may err: halves of the last place and their neighbours, where the
** exponent changes, at both ends of the range, and what is no number. */
static float awkward(Draw *d, bool finite) {
    static const uint32_t end[] = { 0x8000,  0x7fff, 0x8001, 0x18000, 0x17fff,
                                    0x18001, 0,      1,      0xffff,  0x10000 };
    static const uint32_t special[] = { 0x7f800000, 0x7f7fffff, 0x7f7f8000, 0x7f7f7fff, 0x7f7f0000,
                                        0x7fc00000, 0x7f800001, 0x7fffffff, 0x7f80ffff, 0x7fbf8000,
                                        0x007fffff, 0x007f8000, 0x00000001, 0x00008000, 0x00018000,
                                        0x00800000, 0 };
    enum { ENDS = sizeof end / sizeof end[0], SPECIALS = sizeof special / sizeof special[0] };
    uint32_t sign = (uint32_t)draw_below(d, 2) << 31, bits;
    if (!finite && draw_below(d, 3) == 0) bits = special[draw_below(d, SPECIALS)];
    else /* 2^-60 to 2^60; one in eight just below a power of two */
        bits = ((uint32_t)(67 + draw_below(d, 120)) << 23
                | (draw_below(d, 8) ? (uint32_t)draw(d) & 0x7e0000 : 0x7e0000))
            + end[draw_below(d, ENDS)];
    bits |= sign;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 'got' is the weight rounded; what is below the smallest normal number may count as zero. */
static bool rounded(float got, float weight) {
    float right = wide(narrow(weight));
    if (isnan(weight)) return isnan(got);
    return got == right || (got == 0 && fabsf(weight) < 0x1p-126f);
}

static void check_rounded(const Product *p, const float *c, int64_t i, int64_t j, float weight) {
    float got = c[i * p->ldc + j];
    if (!rounded(got, weight))
        fail_msg("kind %d, %ld columns, %ld steps: weight %a became %a, expected %a", p->kind,
                 (long)p->columns, (long)p->steps, weight, got, wide(narrow(weight)));
}

/* Rows of A are those of the identity, B is awkward numbers: C is B rounded. */
static Product identity_new(Kind kind, int64_t columns, int64_t steps, Draw *d) {
    Product p = product_new(kind, steps, columns, steps, 1, 0, AFTER, d, WHOLE);
    guard_writable(p.a);
    guard_writable(p.b);
    for (int64_t i = 0; i < p.rows; i++)
        for (int64_t s = 0; s < steps; s++)
            put(p.a, true, i * p.lda + s, i == s);
    for (int64_t i = 0; i < b_rows(&p); i++)
        for (int64_t j = 0; j < b_columns(&p); j++)
            p.b.at[i * p.ldb + j] = awkward(d, steps > 1);
    return p;
}

static float weight_of(const Product *p, int64_t j, int64_t s) {
    return p->b.at[p->kind == BACK ? s * p->ldb + j : j * p->ldb + s];
}

static void check_identity(const Product *p, const float *c) {
    for (int64_t s = 0; s < p->steps; s++)
        for (int64_t j = 0; j < p->columns; j++)
            check_rounded(p, c, s, j, weight_of(p, j, s));
}

/* With one step also NaN and infinity, which would be all of a longer row's sums. */
static void weights_are_rounded(void **state) {
    (void)state;
    Draw d = { 10 };
    static const int64_t steps[] = { 1, 1, 1, 2, 5, 17, 33, 67, 300 };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; kind != WEIGHT && i < sizeof steps / sizeof steps[0]; i++)
            for (int64_t columns = 1; columns < 300; columns = columns * 2 + 1) {
                Product p = identity_new((Kind)kind, columns, steps[i], &d);
                run_all(&p, p.c.at);
                check_identity(&p, p.c.at);
                product_free(&p);
            }
}

static void packed_weights_are_rounded(void **state) {
    (void)state;
    Draw d = { 11 };
    for (int round = 0; round < 12; round++) {
        Product p = identity_new(round % 2 ? BACK : LINEAR, 1 + draw_below(&d, 300),
                                 round % 3 ? 1 + draw_below(&d, 80) : 1, &d);
        Guarded packed = room(packed_floats(p.columns, p.steps, 2 * LANES, numbers.packing)
                                  * (int64_t)sizeof(float),
                              AFTER);
        for (int64_t b = 0; b < (p.columns + BLOCK - 1) / BLOCK; b++)
            pack(&p, b, packed.at);
        multiply_packed(&p, 0, p.rows, packed.at, p.c.at);
        check_identity(&p, p.c.at);
        guard_free(packed);
        product_free(&p);
    }
}

/* Packed a few rows at a time, as the optimizer does, in any order: the same products. */
static void rows_may_be_packed_alone(void **state) {
    (void)state;
    Draw d = { 13 };
    for (int round = 0; KERNEL_PAIRS && round < 16; round++) {
        Kind kind = round % 2 ? BACK : LINEAR;
        Product p = product_new(
            kind, 1 + draw_below(&d, 40), 1 + draw_below(&d, round % 4 ? 100 : 700),
            1 + draw_below(&d, round % 3 ? 90 : 700), 1, 0, round % 2 ? BEFORE : AFTER, &d, REAL);
        int64_t M = kind == BACK ? p.steps : p.columns, K = kind == BACK ? p.columns : p.steps;
        float *w = calloc((size_t)(M * K), sizeof *w), *other = c_copy(&p);
        for (int64_t m = 0; m < M; m++)
            memcpy(w + m * K, p.b.at + m * p.ldb, (size_t)K * sizeof *w);
        Guarded packed = room(packed_floats(p.columns, p.steps, 2 * LANES, PACKED_PAIRS)
                                  * (int64_t)sizeof(float),
                              p.side);
        for (int64_t m = (M - 1) / PACK_ROWS * PACK_ROWS; m >= 0; m -= PACK_ROWS)
            k_pack_rows_bf16(M, K, m, m + PACK_ROWS < M ? m + PACK_ROWS : M, w,
                             kind == LINEAR ? packed.at : NULL, kind == BACK ? packed.at : NULL);
        run_all(&p, p.c.at);
        multiply_packed(&p, 0, p.rows, packed.at, other);
        assert_same_bits(&p, p.c.at, other);
        guard_free(packed);
        free(w), free(other);
        product_free(&p);
    }
}

/* Several blocks of steps, and of tokens that gradients of weights take at once. */
static void long_sums_are_right(void **state) {
    (void)state;
    Draw d = { 14 };
    for (int round = 0; round < 2 * KINDS; round++) {
        Kind kind = (Kind)(round / 2);
        Product p = product_new(kind, kind == FEW ? 3 + 5 * (round % 2) : 37, 290,
                                round % 2 ? 2100 : 1057, 1, round % 2, AFTER, &d, REAL);
        float *before = c_copy(&p), *parts = c_copy(&p);
        run_all(&p, p.c.at);
        check_product(&p, before, numbers.units);
        run_part(&p, 0, p.rows, 0, 130, parts);
        run_part(&p, 0, p.rows, 130, p.columns, parts);
        assert_same_bits(&p, p.c.at, parts);
        free(before), free(parts);
        product_free(&p);
    }
}

/* The awkward numbers are: some round up, some down, some to even both ways, some to infinity. */
static void awkward_numbers_are(void **state) {
    (void)state;
    Draw d = { 12 };
    int up = 0, down = 0, even_up = 0, even_down = 0, infinite = 0, small = 0, nan = 0;
    for (int i = 0; i < 5000; i++) {
        float x = awkward(&d, false), y = wide(narrow(x));
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        bool tie = (bits & 0xffff) == 0x8000 && isfinite(y);
        up += fabsf(y) > fabsf(x);
        down += fabsf(y) < fabsf(x);
        even_up += tie && fabsf(y) > fabsf(x);
        even_down += tie && fabsf(y) < fabsf(x);
        infinite += isfinite(x) && isinf(y);
        small += x != 0 && fabsf(x) < 0x1p-126f;
        nan += isnan(x);
    }
    assert_true(up > 500 && down > 500 && even_up > 50 && even_down > 50 && infinite > 50
                && small > 50 && nan > 50);
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(bits_do_not_depend_on_the_split),
        cmocka_unit_test(bits_do_not_depend_on_the_neighbours),
        cmocka_unit_test(packing_ahead_changes_no_bits),
        cmocka_unit_test(few_rows_may_be_long),
        cmocka_unit_test(weights_may_be_bf16),
        cmocka_unit_test(few_rows_take_pairs),
        cmocka_unit_test(results_may_be_bf16),
        cmocka_unit_test(awkward_numbers_are),
        cmocka_unit_test(weights_are_rounded),
        cmocka_unit_test(packed_weights_are_rounded),
        cmocka_unit_test(rows_may_be_packed_alone),
        cmocka_unit_test(long_sums_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
