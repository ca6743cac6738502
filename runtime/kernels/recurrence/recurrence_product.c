/* SPDX-License-Identifier: MIT
** Products of a chunk's matrices, which lie in a worker's scratch.  A sum is one chain of
** multiply-adds in order of its steps, in accumulators; a panel of two vectors of b's columns stays
** in the first-level cache while all rows of a meet it.
*/
#include "recurrence.h"
#include "row_parts.h"
#include "transpose.h"

INLINE void open_sums(const int rows, const int columns, const Product *p, int64_t i, int64_t j,
                      V sum[][2]) {
    V sign = v_splat(p->minus ? -1.0f : 1.0f);
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++)
        sum[r][c] = v_zero();
    if (!p->add && !p->scale) return;
    UNROLL for (int r = 0; r < rows; r++) {
        V factor = p->scale ? v_splat(p->scale[i + r]) * sign : sign;
        UNROLL for (int c = 0; c < columns; c++)
            sum[r][c] = v_load(p->c + (i + r) * p->ldc + j + c * LANES) * factor;
    }
}

INLINE void close_sums(const int rows, const int columns, const Product *p, int64_t i, int64_t j,
                       V sum[][2]) {
    V sign = v_splat(p->minus ? -1.0f : 1.0f);
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++)
        v_store(p->c + (i + r) * p->ldc + j + c * LANES, sum[r][c] * sign);
}

INLINE void product_rows(const int rows, const int columns, const Product *p, int64_t i,
                         int64_t j) {
    V sum[ROWS][2];
    const float *a = p->a + i * p->row, *b = p->b + j;
    int64_t row = p->row, step = p->step, ldb = p->ldb;
    open_sums(rows, columns, p, i, j, sum);
#pragma clang loop unroll_count(2)
    for (int64_t s = 0; s < p->steps; s++, a += step, b += ldb) {
        V x[2];
        UNROLL for (int c = 0; c < columns; c++) x[c] = v_load(b + c * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            V w = v_splat(a[r * row]);
            UNROLL for (int c = 0; c < columns; c++) sum[r][c] = v_fma(w, x[c], sum[r][c]);
        }
    }
    close_sums(rows, columns, p, i, j, sum);
}

void k_product(const Product *p) {
    enum { TWO = 0, ONE = 16 };
    int64_t parts = (p->rows + ROWS - 1) / ROWS;
    for (int64_t j = 0; j < p->columns; j += 2 * LANES)
        for (int64_t n = 0; n < parts; n++) {
            int64_t i = share(p->rows, parts, n);
            switch (share(p->rows, parts, n + 1) - i + (p->columns - j > LANES ? TWO : ONE)) {
#define PRODUCT_CASE(r)                               \
    case TWO + r: product_rows(r, 2, p, i, j); break; \
    case ONE + r: product_rows(r, 1, p, i, j); break;
                ROW_CASES(PRODUCT_CASE)
            }
        }
}

/* == Moves ================================================================ */

void k_turn(int64_t rows, int64_t columns, const float *in, int64_t ldin, float *out,
            int64_t ldout) {
    for (int64_t i = 0; i < rows; i += LANES)
        for (int64_t j = 0; j < columns; j += LANES) {
            V r[LANES];
            UNROLL for (int l = 0; l < LANES; l++) r[l] = v_load(in + (i + l) * ldin + j);
            transpose(r);
            UNROLL for (int l = 0; l < LANES; l++) v_store(out + (j + l) * ldout + i, r[l]);
        }
}

void k_rows_in(int64_t n, int64_t d, const float *from, int64_t ld, float *to, int64_t ldto) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e += LANES)
            v_store(to + t * ldto + e, load_left(from + t * ld + e, d - e));
}

void k_rows_out(int64_t n, int64_t d, const float *from, int64_t ld, float *to, int64_t ldto,
                int add) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e += LANES) {
            float *at = to + t * ldto + e;
            V x = v_load(from + t * ld + e);
            store_left(at, d - e, add ? load_left(at, d - e) + x : x);
        }
}

void k_rows_scale(int64_t n, int64_t d, const float *x, float *y, int64_t ld) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e += LANES)
            v_store(y + t * ld + e, v_load(y + t * ld + e) * v_load(x + e));
}

void k_rows_multiply(int64_t n, int64_t d, const float *a, const float *b, float *y, int64_t ld) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e += LANES)
            v_store(y + t * ld + e, v_load(a + t * ld + e) * v_load(b + t * ld + e));
}
