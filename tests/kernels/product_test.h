/* SPDX-License-Identifier: MIT
** Tests of matrix products, for any kind of numbers that they take: right for odd
** sizes and leading dimensions, nothing read or written outside the matrices, and a
** row's bits the same wherever the row lies, whatever its neighbours and however the
** work is split.
**
** A test includes this after kernel_test.h and says by 'numbers' and run_part() which
** kernels are tested.  Whole numbers as operands make every sum exact, so that they
** are compared for equality; real ones with a sum in double, within the rounding of
** one that is added up step after step.  Between the rows of operands lie NaNs.
*/
#ifndef TESTS_PRODUCT_TEST_H
#define TESTS_PRODUCT_TEST_H

#include <math.h>
#include "packed.h"

/* The four products: C[rows, columns] of 'steps' summed products.  What tokens bring is
** A, and B of WEIGHT; B is weights otherwise. */
typedef enum Kind { LINEAR, BACK, WEIGHT, FEW, KINDS } Kind;

typedef struct Product {
    Kind kind;
    int64_t rows, columns, steps;
    int64_t lda, ldb, ldc; /* in numbers */
    int add;
    Side side;
    Guarded a, b, c, scratch;
} Product;

/* What a test says of the kernels that it tests. */
typedef struct Numbers {
    bool bf16; /* what tokens bring is bfloat16, and weights are rounded to it */
    int units; /* roundings of a step: 1 if a product is added to a sum at once, or is exact */
    Packing packing;
    int64_t (*scratch)(void);
} Numbers;

static const Numbers numbers;
/* Rows [i0, i1) and columns [j0, j1) of the product, into c (ldc apart). */
static void run_part(const Product *p, int64_t i0, int64_t i1, int64_t j0, int64_t j1, float *c);
/* The same of LINEAR and BACK in two: BLOCK of its columns packed, rows [i0, i1) of all columns. */
static void pack(const Product *p, int64_t block, float *packed);
static void multiply_packed(const Product *p, int64_t i0, int64_t i1, const float *packed,
                            float *c);

/* == Numbers ============================================================== */

/* bfloat16 is the upper half of a float. */
static inline float wide(uint16_t bf16) {
    uint32_t bits = (uint32_t)bf16 << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest bfloat16, of two as near the even one; NaN is one too. */
static inline uint16_t narrow(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline uint16_t *as_bf16(Guarded g) { return (uint16_t *)(void *)g.at; }

/* == Shapes as the operands lie in memory ================================= */

static int64_t a_rows(const Product *p) { return p->kind == WEIGHT ? p->steps : p->rows; }
static int64_t a_columns(const Product *p) { return p->kind == WEIGHT ? p->rows : p->steps; }
static int64_t b_rows(const Product *p) {
    return p->kind == LINEAR || p->kind == FEW ? p->columns : p->steps;
}
static int64_t b_columns(const Product *p) {
    return p->kind == LINEAR || p->kind == FEW ? p->steps : p->columns;
}
static bool a_bf16(void) { return numbers.bf16; }
static bool b_bf16(const Product *p) { return numbers.bf16 && p->kind == WEIGHT; }

static float a_at(const Product *p, int64_t i, int64_t s) {
    int64_t at = p->kind == WEIGHT ? s * p->lda + i : i * p->lda + s;
    return a_bf16() ? wide(as_bf16(p->a)[at]) : p->a.at[at];
}

/* As the product takes it. */
static float b_at(const Product *p, int64_t j, int64_t s) {
    int64_t at = p->kind == LINEAR || p->kind == FEW ? j * p->ldb + s : s * p->ldb + j;
    return b_bf16(p)   ? wide(as_bf16(p->b)[at])
        : numbers.bf16 ? wide(narrow(p->b.at[at]))
                       : p->b.at[at];
}

/* == Products ============================================================= */

typedef enum Draws { WHOLE, REAL } Draws;

static float draw_number(Draw *d, Draws draws) {
    return draws == WHOLE ? (float)(draw_below(d, 17) - 8) : draw_real(d);
}

static void put(Guarded g, bool bf16, int64_t at, float x) {
    if (bf16) as_bf16(g)[at] = narrow(x);
    else g.at[at] = x;
}

/* 'gaps': what lies between rows is a number too, else NaN. */
static void fill(Guarded g, bool bf16, int64_t rows, int64_t columns, int64_t ld, Draw *d,
                 Draws draws, bool gaps) {
    for (int64_t i = 0; columns > 0 && i < rows; i++)
        for (int64_t j = 0; j < (i + 1 < rows ? ld : columns); j++)
            put(g, bf16, i * ld + j, j < columns || gaps ? draw_number(d, draws) : NAN);
}

static Guarded matrix(int64_t rows, int64_t columns, int64_t ld, bool bf16, Side side) {
    int64_t count = rows > 0 && columns > 0 ? (rows - 1) * ld + columns : 0;
    return guard_bytes(count * (bf16 ? 2 : 4), side);
}

/* Room to work in, full of NaNs: what is read without having been written shows. */
static Guarded room(int64_t bytes, Side side) {
    Guarded g = guard_bytes(bytes, side);
    memset(g.at, 0xff, (size_t)bytes);
    return g;
}

/* Operands drawn, then unwritable; 'gap' numbers lie between rows. */
static Product product_new(Kind kind, int64_t rows, int64_t columns, int64_t steps, int64_t gap,
                           int add, Side side, Draw *d, Draws draws) {
    Product p = {
        .kind = kind, .rows = rows, .columns = columns, .steps = steps, .add = add, .side = side
    };
    p.lda = a_columns(&p) + gap;
    p.ldb = b_columns(&p) + 2 * gap;
    p.ldc = columns + 3 * gap;
    p.a = matrix(a_rows(&p), a_columns(&p), p.lda, a_bf16(), side);
    p.b = matrix(b_rows(&p), b_columns(&p), p.ldb, b_bf16(&p), side);
    p.c = matrix(rows, columns, p.ldc, false, side);
    p.scratch = room(kind == FEW ? k_few_scratch() : numbers.scratch(), side);
    fill(p.a, a_bf16(), a_rows(&p), a_columns(&p), p.lda, d, draws, false);
    fill(p.b, b_bf16(&p), b_rows(&p), b_columns(&p), p.ldb, d, draws, false);
    fill(p.c, false, rows, columns, p.ldc, d, draws, true);
    guard_readonly(p.a);
    guard_readonly(p.b);
    return p;
}

static void product_free(Product *p) {
    guard_free(p->a);
    guard_free(p->b);
    guard_free(p->c);
    guard_free(p->scratch);
}

static void run_all(const Product *p, float *c) { run_part(p, 0, p->rows, 0, p->columns, c); }

static int64_t c_floats(const Product *p) {
    return p->rows > 0 && p->columns > 0 ? (p->rows - 1) * p->ldc + p->columns : 0;
}

/* A copy of C as it was before the product. */
static float *c_copy(const Product *p) {
    float *copy = malloc((size_t)c_floats(p) * sizeof *copy + 1);
    assert_non_null(copy);
    memcpy(copy, p->c.at, (size_t)c_floats(p) * sizeof *copy);
    return copy;
}

/* The element in double, and the sum of the terms' sizes. */
static double element(const Product *p, const float *before, int64_t i, int64_t j, double *size) {
    double sum = p->add ? before[i * p->ldc + j] : 0;
    *size = fabs(sum);
    for (int64_t s = 0; s < p->steps; s++) {
        double term = (double)a_at(p, i, s) * b_at(p, j, s);
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

/* Every element within 'units' half-units in the last place per step, the gaps between rows as
** before. */
static void check_product(const Product *p, const float *before, double units) {
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
                fail_msg("kind %d, %ld x %ld x %ld, add %d: (%ld, %ld) is %.9g, not %.9g", p->kind,
                         (long)p->rows, (long)p->columns, (long)p->steps, p->add, (long)i, (long)j,
                         got, right);
        }
}

static void try_product(Kind kind, int64_t rows, int64_t columns, int64_t steps, Draw *d) {
    int64_t gap = draw_below(d, 3) ? draw_below(d, 9) : 0;
    Draws draws = draw_below(d, 2) ? WHOLE : REAL;
    Product p = product_new(kind, rows, columns, steps, gap, (int)draw_below(d, 2),
                            (Side)draw_below(d, 2), d, draws);
    float *before = c_copy(&p);
    run_all(&p, p.c.at);
    check_product(&p, before, draws == WHOLE ? 0 : numbers.units);
    free(before);
    product_free(&p);
}

/* == Right, and only where they may be ==================================== */

/* Every size about a tile's, then sizes about a block's, then any. */
static void products_are_right(void **state) {
    (void)state;
    Draw d = { 3 };
    static const int64_t blocks[] = { 255, 256, 257, 300, 512, 515 };
    static const int64_t tiles[] = { 1, 2, 3, 15, 16, 17, 31, 32, 33 };
    enum { BLOCKS = sizeof blocks / sizeof blocks[0], TILES = sizeof tiles / sizeof tiles[0] };
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t rows = 1; rows <= 26; rows++)
            for (int64_t columns = 1; columns <= 70; columns += 1 + draw_below(&d, 5))
                try_product((Kind)kind, rows, columns, 1 + draw_below(&d, 40), &d);
        for (int i = 0; i < TILES * TILES * TILES; i++)
            try_product((Kind)kind, tiles[i % TILES], tiles[i / TILES % TILES],
                        tiles[i / TILES / TILES], &d);
        for (int i = 0; i < BLOCKS; i++) {
            try_product((Kind)kind, 1 + draw_below(&d, 30), 1 + draw_below(&d, 40), blocks[i], &d);
            try_product((Kind)kind, 1 + draw_below(&d, 30), blocks[i], 1 + draw_below(&d, 40), &d);
            try_product((Kind)kind, blocks[i], 1 + draw_below(&d, 30), 1 + draw_below(&d, 40), &d);
        }
        for (int i = 0; i < 20; i++)
            try_product((Kind)kind, 1 + draw_below(&d, 100), 1 + draw_below(&d, 300),
                        1 + draw_below(&d, 600), &d);
        for (int i = 0; i < 2; i++) /* more than stays packed, in several blocks */
            try_product((Kind)kind, 500 + draw_below(&d, 200), 500 + draw_below(&d, 100),
                        257 + draw_below(&d, 60), &d);
    }
}

/* No rows, columns or steps: without steps C becomes 0, or stays if added to. */
static void empty_products(void **state) {
    (void)state;
    Draw d = { 4 };
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < 4; round++) {
            try_product((Kind)kind, 0, 5, 7, &d);
            try_product((Kind)kind, 5, 0, 7, &d);
            try_product((Kind)kind, 13, 37, 0, &d);
        }
}

/* == Bits ================================================================= */

static void assert_same_bits(const Product *p, const float *whole, const float *parts) {
    assert_memory_equal(whole, parts, (size_t)c_floats(p) * sizeof *whole);
}

/* Cut points 0 = cut[0] < .. <= n, pieces of 1 to 'most'. */
static int cuts(int64_t n, int64_t most, Draw *d, int64_t cut[]) {
    int count = 0;
    int64_t at = 0;
    for (; at < n; at += 1 + draw_below(d, most))
        cut[count++] = at;
    cut[count] = n;
    return count;
}

/* Any cutting into rows and columns: also edges where full tiles were, rows at
** other places of a tile, and single rows. */
static void bits_do_not_depend_on_the_split(void **state) {
    (void)state;
    Draw d = { 5 };
    int64_t row[128], column[512];
    for (int kind = 0; kind < KINDS; kind++)
        for (int round = 0; round < 12; round++) {
            Product p = product_new((Kind)kind, 1 + draw_below(&d, 70), 1 + draw_below(&d, 300),
                                    1 + draw_below(&d, 700), round % 3, round % 2, AFTER, &d, REAL);
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
static void bits_do_not_depend_on_the_neighbours(void **state) {
    (void)state;
    Draw d = { 6 };
    enum { ROWS = 29, COLUMNS = 67, STEPS = 83 };
    for (int kind = 0; kind < KINDS; kind++)
        for (int64_t bad = 0; bad < ROWS; bad++) {
            Product p = product_new((Kind)kind, ROWS, COLUMNS, STEPS, 0, 0, BEFORE, &d, REAL);
            float *other = c_copy(&p);
            run_all(&p, p.c.at);
            guard_writable(p.a);
            for (int64_t s = 0; s < STEPS; s++)
                put(p.a, a_bf16(), kind == WEIGHT ? s * p.lda + bad : bad * p.lda + s,
                    s % 2 ? NAN : INFINITY);
            run_all(&p, other);
            for (int64_t i = 0; i < ROWS; i++) {
                assert_true(i != bad || isnan(other[i * p.ldc]));
                if (i != bad)
                    assert_memory_equal(other + i * p.ldc, p.c.at + i * p.ldc,
                                        COLUMNS * sizeof(float));
            }
            free(other);
            product_free(&p);
        }
}

/* Several rows of x with rows of w that are longer than what stays in the caches, up to those that
** are not laid out, are what they are one by one. */
static void few_rows_may_be_long(void **state) {
    (void)state;
    Draw d = { 10 };
    static const int64_t steps[] = { 1023, 1024, 1025, 2100, 4500, 13000, 13200 };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        Product p = product_new(FEW, 5 + draw_below(&d, 20), 1 + draw_below(&d, 40), steps[i],
                                (int64_t)i % 3, i % 2, i % 2 ? BEFORE : AFTER, &d, REAL);
        float *parts = c_copy(&p);
        run_all(&p, p.c.at);
        for (int64_t row = 0; row < p.rows; row++)
            run_part(&p, row, row + 1, 0, p.columns, parts);
        assert_same_bits(&p, p.c.at, parts);
        free(parts);
        product_free(&p);
    }
}

/* Packed before, block by block in any order, in exactly the room there is for it; rows in two
** calls. */
static void packing_ahead_changes_no_bits(void **state) {
    (void)state;
    Draw d = { 9 };
    for (int round = 0; round < 24; round++) {
        Kind kind = round % 2 ? LINEAR : BACK;
        Product p = product_new(kind, 1 + draw_below(&d, 40),
                                1 + draw_below(&d, round % 3 ? 60 : 700),
                                1 + draw_below(&d, round % 4 ? 90 : 600), 1, round % 5 == 0,
                                round % 2 ? BEFORE : AFTER, &d, REAL);
        int64_t floats = packed_floats(p.columns, p.steps, 2 * LANES, numbers.packing),
                blocks = (p.columns + BLOCK - 1) / BLOCK;
        Guarded packed = room(floats * (int64_t)sizeof(float), p.side);
        float *other = c_copy(&p);
        run_all(&p, p.c.at);
        for (int64_t b = blocks; b-- > 0;)
            pack(&p, b, packed.at);
        int64_t bf16 = draw_below(&d, p.rows + 1);
        multiply_packed(&p, 0, bf16, packed.at, other);
        multiply_packed(&p, bf16, p.rows, packed.at, other);
        assert_same_bits(&p, p.c.at, other);
        guard_free(packed);
        free(other);
        product_free(&p);
    }
}

#endif
