/*
** The products against plain loops: right for odd sizes and leading dimensions,
** nothing read or written outside the matrices, and a row's bits the same
** wherever the row lies, whatever its neighbours and however the work is split.
**
** Whole numbers as operands make every sum exact, so that the first test asks
** for equality; the others draw reals.
*/
#include "kernel_test.h"
#include "packed.h"
#include <math.h>

/* The four products: C[rows, columns] of 'steps' summed products. */
typedef enum Kind { LINEAR, BACK, WEIGHT, FEW, KINDS } Kind;

typedef struct Product {
    Kind kind;
    int64_t rows, columns, steps;
    int64_t lda, ldb, ldc;
    int add;
    Side side;
    Guarded a, b, c, scratch;
} Product;

/* Shapes as the operands lie in memory. */
static int64_t a_rows(const Product *p) { return p->kind == WEIGHT ? p->steps : p->rows; }
static int64_t a_columns(const Product *p) { return p->kind == WEIGHT ? p->rows : p->steps; }
static int64_t b_rows(const Product *p) { return p->kind == LINEAR || p->kind == FEW ? p->columns : p->steps; }
static int64_t b_columns(const Product *p) { return p->kind == LINEAR || p->kind == FEW ? p->steps : p->columns; }

static float a_at(const Product *p, int64_t i, int64_t s)
{
    return p->kind == WEIGHT ? p->a.at[s * p->lda + i] : p->a.at[i * p->lda + s];
}

static float b_at(const Product *p, int64_t j, int64_t s)
{
    return p->kind == LINEAR || p->kind == FEW ? p->b.at[j * p->ldb + s] : p->b.at[s * p->ldb + j];
}

typedef enum Numbers { WHOLE, REAL } Numbers;

static float draw_number(Draw *d, Numbers numbers)
{
    return numbers == WHOLE ? (float)(draw_below(d, 17) - 8) : draw_real(d);
}

static void fill(Guarded g, int64_t rows, int64_t columns, int64_t ld, Draw *d, Numbers numbers)
{
    for (int64_t i = 0; columns > 0 && i < rows; i++)
        for (int64_t j = 0; j < (i + 1 < rows ? ld : columns); j++)
            g.at[i * ld + j] = draw_number(d, numbers);
}

/* Operands drawn, then unwritable; 'gap' floats lie between rows. */
static Product product_new(Kind kind, int64_t rows, int64_t columns, int64_t steps, int64_t gap, int add, Side side,
                           Draw *d, Numbers numbers)
{
    Product p = {.kind = kind, .rows = rows, .columns = columns, .steps = steps, .add = kind == WEIGHT ? 1 : add, .side = side};
    p.lda = a_columns(&p) + gap;
    p.ldb = b_columns(&p) + 2 * gap;
    p.ldc = columns + 3 * gap;
    p.a = guard_matrix(a_rows(&p), a_columns(&p), p.lda, side);
    p.b = guard_matrix(b_rows(&p), b_columns(&p), p.ldb, side);
    p.c = guard_matrix(rows, columns, p.ldc, side);
    p.scratch = guard_bytes(k_gemm_scratch(), side);
    fill(p.a, a_rows(&p), a_columns(&p), p.lda, d, numbers);
    fill(p.b, b_rows(&p), b_columns(&p), p.ldb, d, numbers);
    fill(p.c, rows, columns, p.ldc, d, numbers);
    guard_readonly(p.a);
    guard_readonly(p.b);
    return p;
}

static void product_free(Product *p)
{
    guard_free(p->a);
    guard_free(p->b);
    guard_free(p->c);
    guard_free(p->scratch);
}

/* Rows [i0, i1) and columns [j0, j1) of the product, into c (ldc apart). */
static void run_part(const Product *p, int64_t i0, int64_t i1, int64_t j0, int64_t j1, float *c)
{
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
        k_linear_weight(p->steps, i0, i1, j0, j1, a, p->lda, b, p->ldb, c, p->ldc, scratch);
        break;
    default:
        k_linear_few(i1 - i0, j0, j1, p->steps, a + i0 * p->lda, p->lda, b, p->ldb, c + i0 * p->ldc, p->ldc, p->add);
        break;
    }
}

static void run_all(const Product *p, float *c) { run_part(p, 0, p->rows, 0, p->columns, c); }

static int64_t c_floats(const Product *p)
{
    return p->rows > 0 && p->columns > 0 ? (p->rows - 1) * p->ldc + p->columns : 0;
}

/* A copy of C as it was before the product. */
static float *c_copy(const Product *p)
{
    float *copy = malloc((size_t)c_floats(p) * sizeof *copy + 1);
    assert_non_null(copy);
    memcpy(copy, p->c.at, (size_t)c_floats(p) * sizeof *copy);
    return copy;
}

/* The element in double, and the sum of the terms' sizes. */
static double element(const Product *p, const float *before, int64_t i, int64_t j, double *size)
{
    double sum = p->add ? before[i * p->ldc + j] : 0;
    *size = fabs(sum);
    for (int64_t s = 0; s < p->steps; s++) {
        double term = (double)a_at(p, i, s) * b_at(p, j, s);
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

/* Every element within 'units' half-units in the last place per step, the gaps between rows as before. */
static void check_product(const Product *p, const float *before, double units)
{
    for (int64_t i = 0; p->columns > 0 && i < p->rows; i++)
        for (int64_t j = 0; j < (i + 1 < p->rows ? p->ldc : p->columns); j++) {
            float got = p->c.at[i * p->ldc + j];
            if (j >= p->columns) {
                assert_true(got == before[i * p->ldc + j]);
                continue;
            }
            double size, right = element(p, before, i, j, &size);
            double allowed = units * 0x1p-24 * (double)(p->steps + 2) * size;
            if (!(fabs(got - right) <= allowed))
                fail_msg("kind %d, %ld x %ld x %ld, add %d: (%ld, %ld) is %.9g, not %.9g", p->kind, (long)p->rows,
                         (long)p->columns, (long)p->steps, p->add, (long)i, (long)j, got, right);
        }
}

static void try_product(Kind kind, int64_t rows, int64_t columns, int64_t steps, Draw *d)
{
    int64_t gap = draw_below(d, 3) ? draw_below(d, 9) : 0;
    Numbers numbers = draw_below(d, 2) ? WHOLE : REAL;
    Product p = product_new(kind, rows, columns, steps, gap, (int)draw_below(d, 2), (Side)draw_below(d, 2), d, numbers);
    float *before = c_copy(&p);
    run_all(&p, p.c.at);
    check_product(&p, before, numbers == WHOLE ? 0 : KERNEL_LEVEL >= 3 ? 1 : 2);
    free(before);
    product_free(&p);
}

/* Every size about a tile's, then sizes about a block's, then any. */
static void products_are_right(void **state)
{
    (void)state;
    Draw d = {3};
    static const int64_t blocks[] = {255, 256, 257, 300, 512, 515};
    enum { BLOCKS = sizeof blocks / sizeof blocks[0] };
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t rows = 1; rows <= 26; rows++)
            for (int64_t columns = 1; columns <= 70; columns += 1 + draw_below(&d, 5))
                try_product((Kind)kind, rows, columns, 1 + draw_below(&d, 40), &d);
        for (int i = 0; i < BLOCKS; i++) {
            try_product((Kind)kind, 1 + draw_below(&d, 30), 1 + draw_below(&d, 40), blocks[i], &d);
            try_product((Kind)kind, 1 + draw_below(&d, 30), blocks[i], 1 + draw_below(&d, 40), &d);
            try_product((Kind)kind, blocks[i], 1 + draw_below(&d, 30), 1 + draw_below(&d, 40), &d);
        }
        for (int i = 0; i < 20; i++)
            try_product((Kind)kind, 1 + draw_below(&d, 100), 1 + draw_below(&d, 300), 1 + draw_below(&d, 600), &d);
    }
}

/* No rows, columns or steps: without steps C becomes 0, or stays if added to. */
static void empty_products(void **state)
{
    (void)state;
    Draw d = {4};
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < 4; round++) {
            try_product((Kind)kind, 0, 5, 7, &d);
            try_product((Kind)kind, 5, 0, 7, &d);
            try_product((Kind)kind, 13, 37, 0, &d);
        }
}

static void assert_same_bits(const Product *p, const float *whole, const float *parts)
{
    assert_memory_equal(whole, parts, (size_t)c_floats(p) * sizeof *whole);
}

/* Cut points 0 = cut[0] < .. <= n, pieces of 1 to 'most'. */
static int cuts(int64_t n, int64_t most, Draw *d, int64_t cut[])
{
    int count = 0;
    int64_t at = 0;
    for (; at < n; at += 1 + draw_below(d, most))
        cut[count++] = at;
    cut[count] = n;
    return count;
}

/* Any cutting into rows and columns: also edges where full tiles were, rows at
** other places of a tile, and single rows. */
static void bits_do_not_depend_on_the_split(void **state)
{
    (void)state;
    Draw d = {5};
    int64_t row[128], column[512];
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < 12; round++) {
            Product p = product_new((Kind)kind, 1 + draw_below(&d, 70), 1 + draw_below(&d, 300), 1 + draw_below(&d, 700),
                                    round % 3, round % 2, AFTER, &d, REAL);
            float *parts = c_copy(&p);
            run_all(&p, p.c.at);
            int rows = cuts(p.rows, round % 4 ? 20 : 1, &d, row);
            int columns = cuts(p.columns, 120, &d, column);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++)
                    run_part(&p, row[i], row[i + 1], column[j], column[j + 1], parts);
            assert_same_bits(&p, p.c.at, parts);
            free(parts);
            product_free(&p);
        }
}

/* A row that has NaN and infinity changes no other, in any place of a tile. */
static void bits_do_not_depend_on_the_neighbours(void **state)
{
    (void)state;
    Draw d = {6};
    enum { ROWS = 29, COLUMNS = 67, STEPS = 83 };
    for (int kind = 0; kind < KINDS; kind++)
        for (int64_t bad = 0; bad < ROWS; bad++) {
            Product p = product_new((Kind)kind, ROWS, COLUMNS, STEPS, 0, 0, BEFORE, &d, REAL);
            float *other = c_copy(&p);
            run_all(&p, p.c.at);
            size_t page = (size_t)sysconf(_SC_PAGESIZE);
            assert_int_equal(mprotect(p.a.pages + page, p.a.size, PROT_READ | PROT_WRITE), 0);
            for (int64_t s = 0; s < STEPS; s++)
                p.a.at[kind == WEIGHT ? s * p.lda + bad : bad * p.lda + s] = s % 2 ? NAN : INFINITY;
            run_all(&p, other);
            for (int64_t i = 0; i < ROWS; i++) {
                assert_true(i != bad || isnan(other[i * p.ldc]));
                if (i != bad)
                    assert_memory_equal(other + i * p.ldc, p.c.at + i * p.ldc, COLUMNS * sizeof(float));
            }
            free(other);
            product_free(&p);
        }
}

/* Up to 256 steps an element of the packed products is one chain, added last. */
static void elements_are_chains(void **state)
{
    (void)state;
    Draw d = {7};
    for (int kind = 0; kind < FEW; kind++)
        for (int round = 0; round < 4; round++) {
            Product p = product_new((Kind)kind, 23, 75, 1 + draw_below(&d, 256), 1, round % 2, AFTER, &d, REAL);
            float *before = c_copy(&p);
            run_all(&p, p.c.at);
            for (int64_t i = 0; i < p.rows; i++)
                for (int64_t j = 0; j < p.columns; j++) {
                    float sum = 0;
                    for (int64_t s = 0; s < p.steps; s++)
                        sum = KERNEL_LEVEL >= 3 ? fmaf(a_at(&p, i, s), b_at(&p, j, s), sum) : a_at(&p, i, s) * b_at(&p, j, s) + sum;
                    assert_true(p.c.at[i * p.ldc + j] == (p.add ? before[i * p.ldc + j] + sum : sum));
                }
            free(before);
            product_free(&p);
        }
}

/* Tokens in order: a weight gradient over all tokens is that of the first 256, then of the rest. */
static void tokens_are_summed_in_blocks(void **state)
{
    (void)state;
    Draw d = {8};
    Product p = product_new(WEIGHT, 19, 41, 512, 0, 1, AFTER, &d, REAL);
    float *halves = c_copy(&p);
    run_all(&p, p.c.at);
    for (int64_t t = 0; t < 512; t += 256)
        k_linear_weight(256, 0, p.rows, 0, p.columns, p.a.at + t * p.lda, p.lda, p.b.at + t * p.ldb, p.ldb,
                        halves, p.ldc, p.scratch.at);
    assert_same_bits(&p, p.c.at, halves);
    free(halves);
    product_free(&p);
}

/* Packed before, block by block in any order, in exactly the room there is for it. */
static void packing_ahead_changes_no_bits(void **state)
{
    (void)state;
    Draw d = {9};
    for (int round = 0; round < 24; round++) {
        Kind kind = round % 2 ? LINEAR : BACK;
        Product p = product_new(kind, 1 + draw_below(&d, 40), 1 + draw_below(&d, round % 3 ? 60 : 700), 1 + draw_below(&d, round % 4 ? 90 : 600),
                                1, round % 5 == 0, round % 2 ? BEFORE : AFTER, &d, REAL);
        int64_t floats = packed_floats(p.columns, p.steps, 2 * LANES), blocks = (p.columns + BLOCK - 1) / BLOCK;
        Guarded packed = guard_bytes(floats * (int64_t)sizeof(float), p.side);
        float *other = c_copy(&p);
        run_all(&p, p.c.at);
        for (int64_t b = blocks; b-- > 0;)
            k_pack(p.columns, p.steps, p.b.at, p.ldb, kind == BACK, b, packed.at);
        k_multiply(p.rows, p.columns, p.steps, p.a.at, p.lda, packed.at, other, p.ldc, p.add);
        assert_same_bits(&p, p.c.at, other);
        guard_free(packed);
        free(other);
        product_free(&p);
    }
}

int main(void)
{
    if (!host_runs_kernels())
        return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(bits_do_not_depend_on_the_split),
        cmocka_unit_test(bits_do_not_depend_on_the_neighbours),
        cmocka_unit_test(elements_are_chains),
        cmocka_unit_test(tokens_are_summed_in_blocks),
        cmocka_unit_test(packing_ahead_changes_no_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
