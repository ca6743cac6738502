/* SPDX-License-Identifier: MIT
** Products of float32 against plain loops: what product_test.h asks of all, and in
** which order terms are added up.
*/
#include "kernel_test.h"
#include "product_test.h"

/* In tiles six products of parts are added for each product, and what is left out is less than
** one rounding. */
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

/* As one multiply-add after another gives it, or in two roundings. */
static float chain(const Product *p, int64_t i, int64_t j) {
    float sum = 0;
    for (int64_t s = 0; s < p->steps; s++)
        sum = KERNEL_LEVEL >= 3 ? fmaf(a_at(p, i, s), b_at(p, j, s), sum)
                                : a_at(p, i, s) * b_at(p, j, s) + sum;
    return sum;
}

#if !KERNEL_TILES
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
/* In tiles, numbers of any size: sums are at least as close to the exact ones as chains are, in the
** mean of squares over what terms there are. */
static void sums_are_as_close_as_chains(void **state) {
    (void)state;
    Draw d = { 12 };
    for (int round = 0; round < 12; round++) {
        Product p = product_new((Kind)(round % FEW), 20, 40, 8 + draw_below(&d, 600), 0, 0, AFTER,
                                &d, REAL);
        float *zeros = c_copy(&p);
        double ours = 0, chains = 0, size;
        run_all(&p, p.c.at);
        for (int64_t i = 0; i < p.rows; i++)
            for (int64_t j = 0; j < p.columns; j++) {
                double right = element(&p, zeros, i, j, &size);
                ours += pow((p.c.at[i * p.ldc + j] - right) / size, 2);
                chains += pow((chain(&p, i, j) - right) / size, 2);
            }
        if (ours > chains) fail_msg("%ld steps: %g, chains %g", (long)p.steps, ours, chains);
        free(zeros);
        product_free(&p);
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
