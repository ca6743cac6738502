/* SPDX-License-Identifier: MIT
** Products of float32 against plain loops: what product_test.h asks of all, and in
** which order terms are added up.
*/
#include "kernel_test.h"
#include "product_test.h"

static const Numbers numbers = { .units = KERNEL_TILES   ? 7
                                     : KERNEL_LEVEL >= 3 ? 1
                                                         : 2,
                                 .scratch = k_gemm_scratch,
                                 .packing = KERNEL_TILES ? PACKED_PARTS : PACKED_FLOATS };

static void run_part(const Product *p, int64_t i0, int64_t i1, int64_t j0, int64_t j1, float *c) {
    const float *a = p->a.at, *b = p->b.at;
    float *scratch = p->scratch.at;
    switch (p->kind) {
    case LINEAR:
        k_linear(i1 - i0, j1 - j0, p->steps, a + i0 * p->lda, p->lda, b + j0 * p->ldb, p->ldb,
                 c + i0 * p->ldc + j0, p->ldc, p->add, scratch);
        break;
    case BACK:
        k_linear_back(i1 - i0, p->steps, j1 - j0, a + i0 * p->lda, p->lda, b + j0, p->ldb,
                      c + i0 * p->ldc + j0, p->ldc, p->add, scratch);
        break;
    case WEIGHT:
        k_linear_weight(p->steps, i0, i1, j0, j1, a, p->lda, b, p->ldb, c, p->ldc, p->add, scratch);
        break;
    default:
        k_linear_few(i1 - i0, j0, j1, p->steps, a + i0 * p->lda, p->lda, b, p->ldb, c + i0 * p->ldc,
                     p->ldc, p->add, scratch);
        break;
    }
}

static void pack(const Product *p, int64_t block, float *packed) {
    k_pack(p->columns, p->steps, p->b.at, p->ldb, p->kind == BACK, block, packed);
}

static void multiply_packed(const Product *p, int64_t i0, int64_t i1, const float *packed,
                            float *c) {
    k_multiply(i1 - i0, p->columns, p->steps, p->a.at + i0 * p->lda, p->lda, packed,
               c + i0 * p->ldc, p->ldc, p->add);
}

#if !KERNEL_TILES
/* As one multiply-add after another gives it, or in two roundings. */
static float chain(const Product *p, int64_t i, int64_t j) {
    float sum = 0;
    for (int64_t s = 0; s < p->steps; s++)
        sum = KERNEL_LEVEL >= 3 ? fmaf(a_at(p, i, s), b_at(p, j, s), sum)
                                : a_at(p, i, s) * b_at(p, j, s) + sum;
    return sum;
}

/* Up to 256 steps an element of the packed products is one chain, added last; not in tiles. */
static void elements_are_chains(void **state) {
    (void)state;
    Draw d = { 7 };
    for (int kind = 0; kind < FEW; kind++)
        for (int round = 0; round < 4; round++) {
            Product p = product_new((Kind)kind, 23, 75, 1 + draw_below(&d, 256), 1, round % 2,
                                    AFTER, &d, REAL);
            float *before = c_copy(&p);
            run_all(&p, p.c.at);
            for (int64_t i = 0; i < p.rows; i++)
                for (int64_t j = 0; j < p.columns; j++) {
                    float sum = chain(&p, i, j);
                    assert_true(p.c.at[i * p.ldc + j]
                                == (p.add ? before[i * p.ldc + j] + sum : sum));
                }
            free(before);
            product_free(&p);
        }
}

#else
/* As gemm.c has it: chains of 256 steps at most from zero, which are added in order. */
static float chains(const Product *p, int64_t i, int64_t j, float sum) {
    for (int64_t first = 0; first < p->steps; first += 256) {
        float part = 0;
        for (int64_t s = first; s < p->steps && s < first + 256; s++)
            part = fmaf(a_at(p, i, s), b_at(p, j, s), part);
        sum = p->add || first > 0 ? sum + part : part;
    }
    return sum;
}

/* Mean squares of what is wrong in sums of so many steps, of these kernels and of chains. */
static void mean_squares(Kind kind, int64_t steps, float add, Draw *d, double *ours,
                         double *others) {
    Product p = product_new(kind, 20, 40, steps, 0, add != 0, AFTER, d, REAL);
    for (int64_t i = 0; i < p.rows * p.columns; i++)
        p.c.at[i] *= add;
    float *before = c_copy(&p);
    double size;
    *ours = *others = 0;
    run_all(&p, p.c.at);
    for (int64_t i = 0; i < p.rows; i++)
        for (int64_t j = 0; j < p.columns; j++) {
            float start = before[i * p.ldc + j];
            double right = element(&p, before, i, j, &size);
            *ours += pow((p.c.at[i * p.ldc + j] - right) / size, 2);
            *others += pow((chains(&p, i, j, start) - right) / size, 2);
        }
    free(before);
    product_free(&p);
}

/* In tiles sums are as close to the exact ones as chains are; to large numbers they are added twice
** as often, so that up to twice as much may be lost. */
static void sums_are_as_close_as_chains(void **state) {
    (void)state;
    Draw d = { 12 };
    static const float adds[] = { 0, 1, 30, 1000 };
    for (int round = 0; round < 36; round++) {
        int64_t steps = 8 + draw_below(&d, round % 3 ? 600 : 4000);
        float add = adds[round / 3 % 4];
        double ours, others;
        mean_squares((Kind)(round % FEW), steps, add, &d, &ours, &others);
        if (ours > (add != 0 || steps > 256 ? 4 : 1) * others)
            fail_msg("%ld steps, added to %g: %g, chains %g", (long)steps, add, ours, others);
    }
}
#endif

/* x[0] * w[0] + x[1] * w[1]. */
static float sum_of_two(const float *x, const float *w) {
    float y;
    Guarded scratch = guard_bytes((k_gemm_scratch() + 63) / 64 * 64, AFTER);
    k_linear(1, 1, 2, x, 2, w, 2, &y, 1, 0, scratch.at);
    guard_free(scratch);
    return y;
}

/* What has no parts, or parts that are too small: nothing becomes an ordinary number. */
static void odd_numbers_stay_odd(void **state) {
    (void)state;
    static const float odd[] = { NAN, -NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_false(isfinite(sum_of_two((float[]){ 1, odd[i] }, (float[]){ 1, 0.5f })));
        assert_false(isfinite(sum_of_two((float[]){ 1, 2 }, (float[]){ odd[i], 0.5f })));
    }
    assert_true(sum_of_two((float[]){ 1, 1e-40f }, (float[]){ 3, 1 }) == 3);
    assert_true(sum_of_two((float[]){ 3e38f, 0 }, (float[]){ 1, 1 }) == 3e38f);
    assert_true(sum_of_two((float[]){ 0x1.fffffep100f, 0 }, (float[]){ 1, 1 }) == 0x1.fffffep100f);
    assert_true(sum_of_two((float[]){ 0x1.010101p-90f, 0 }, (float[]){ 1, 1 }) == 0x1.010101p-90f);
}

/* Tokens in order: a weight gradient over all tokens is that of the first 256, then of the rest. */
static void tokens_are_summed_in_blocks(void **state) {
    (void)state;
    Draw d = { 8 };
    Product p = product_new(WEIGHT, 19, 41, 512, 0, 1, AFTER, &d, REAL);
    float *halves = c_copy(&p);
    run_all(&p, p.c.at);
    for (int64_t t = 0; t < 512; t += 256)
        k_linear_weight(256, 0, p.rows, 0, p.columns, p.a.at + t * p.lda, p.lda, p.b.at + t * p.ldb,
                        p.ldb, halves, p.ldc, 1, p.scratch.at);
    assert_same_bits(&p, p.c.at, halves);
    free(halves);
    product_free(&p);
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(bits_do_not_depend_on_the_split),
        cmocka_unit_test(bits_do_not_depend_on_the_neighbours),
#if KERNEL_TILES
        cmocka_unit_test(sums_are_as_close_as_chains),
#else
        cmocka_unit_test(elements_are_chains),
#endif
        cmocka_unit_test(odd_numbers_stay_odd),
        cmocka_unit_test(tokens_are_summed_in_blocks),
        cmocka_unit_test(packing_ahead_changes_no_bits),
        cmocka_unit_test(few_rows_may_be_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
