/* SPDX-License-Identifier: MIT
** Products of float32 against plain loops: what product_test.h asks of all, and in
** which order terms are added up.
*/
#include "kernel_test.h"
#include "product_test.h"

static const Numbers numbers = { .units = KERNEL_LEVEL >= 3 ? 1 : 2, .scratch = k_gemm_scratch };

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

/* Up to 256 steps an element of the packed products is one chain, added last. */
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
                    float sum = 0;
                    for (int64_t s = 0; s < p.steps; s++)
                        sum = KERNEL_LEVEL >= 3 ? fmaf(a_at(&p, i, s), b_at(&p, j, s), sum)
                                                : a_at(&p, i, s) * b_at(&p, j, s) + sum;
                    assert_true(p.c.at[i * p.ldc + j]
                                == (p.add ? before[i * p.ldc + j] + sum : sum));
                }
            free(before);
            product_free(&p);
        }
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
        cmocka_unit_test(elements_are_chains),
        cmocka_unit_test(tokens_are_summed_in_blocks),
        cmocka_unit_test(packing_ahead_changes_no_bits),
        cmocka_unit_test(few_rows_may_be_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
