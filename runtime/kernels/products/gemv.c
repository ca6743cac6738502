/* SPDX-License-Identifier: MIT
** y = x w^T for few rows of x (decoding): nothing is packed.  Some rows of w
** meet all rows of x before the next ones do, ROWS rows of x at a time, so that
** each weight is read from memory once, then from the caches.  See gemv.h.
*/
#include "gemv.h"

/* Rows of x at a time, and of w with them or with fewer: their sums are in
** registers.  No more rows than a set of the first-level cache has ways: with
** leading dimensions that are powers of two they all meet in one set. */
enum { ROWS = 4, WEIGHTS = LANES == 16 ? 4 : 3, WEIGHTS_FEWER = 4 };
/* The same where vectors of w are widened or rounded, and only 16 registers are there: sums that
** would not fit are stored and loaded again at every step. */
INLINE int gemv_weights_of(OperandKind kind, int64_t n) {
    if (LANES < 16 && kind != FLOATS) return 2;
    return n < ROWS ? WEIGHTS_FEWER : WEIGHTS;
}
/* A vector of each row of x at 'at', of which 'left' numbers are left, zeros after them. */
INLINE void load_x(int rows, OperandKind kind, const Few *f, int64_t at, int64_t left, V *x) {
    UNROLL for (int r = 0; r < rows; r++) {
        const void *row = rows_of_x(kind, f, r);
        const uint16_t *at_bf16 = (const uint16_t *)row + at;
        x[r] = kind == FLOATS ? load_floats((const float *)row + at, left)
            : kind == BF16    ? load_pairs(at_bf16, left)
                              : load_bf16(at_bf16, left);
    }
}

/* The same of w. */
INLINE void load_w(int rows, OperandKind kind, const Few *f, int64_t at, int64_t left, V *w) {
    UNROLL for (int r = 0; r < rows; r++) {
        const void *row = rows_of_w(kind, f, r);
        if (kind == BF16) w[r] = load_pairs((const uint16_t *)row + at, left);
        else
            w[r] = kind == FLOATS ? load_floats((const float *)row + at, left)
                                  : v_bf16(load_floats((const float *)row + at, left));
    }
}

/* One step of products: of each of 'rows' rows of x with each of 'weights' rows of w. */
INLINE void gemv_step(int rows, int weights, OperandKind kind, const V *x, const V *w,
                      V (*sum)[WEIGHTS_FEWER]) {
    UNROLL for (int t = 0; t < rows; t++) UNROLL for (int i = 0; i < weights; i++)
        sum[t][i] = kind == BF16 ? v_dot(sum[t][i], x[t], w[i]) : v_fma(x[t], w[i], sum[t][i]);
}

/* Which of the next rows of w are asked for meanwhile, as several rows of x keep the processor too
** busy to run ahead to them. */
typedef enum Fetch { FETCH_NONE, FETCH_ALL, FETCH_FIRST_HALF, FETCH_SECOND_HALF } Fetch;

/* 'rows' rows of x by 'weights' rows of w, these and 'fetch' constants where inlined. */
INLINE void dots(int rows, int weights, OperandKind kind, Fetch fetch, const Few *f) {
    V sum[ROWS][WEIGHTS_FEWER], value[ROWS], weight[WEIGHTS_FEWER];
    UNROLL for (int t = 0; t < rows; t++) UNROLL for (int i = 0; i < weights; i++)
        sum[t][i] = v_zero();
    int from = fetch == FETCH_SECOND_HALF ? weights / 2 : 0;
    int to = fetch == FETCH_NONE ? 0 : fetch == FETCH_FIRST_HALF ? weights / 2 : weights;
    int64_t k = f->k, at = 0, line = line_of(kind), numbers = numbers_of(kind);
    for (; at + line <= k;) {
        UNROLL for (int i = from; i < to; i++) __builtin_prefetch(
            (const char *)rows_of_w(kind, f, weights + i) + at * size_of_w(kind), 0, 2);
        UNROLL for (int part = 0; part < line; part += numbers, at += numbers) {
            load_x(rows, kind, f, at, numbers, value);
            load_w(weights, kind, f, at, numbers, weight);
            gemv_step(rows, weights, kind, value, weight, sum);
        }
    }
    for (; at < k; at += numbers) {
        load_x(rows, kind, f, at, k - at, value);
        load_w(weights, kind, f, at, k - at, weight);
        gemv_step(rows, weights, kind, value, weight, sum);
    }
    UNROLL for (int t = 0; t < rows; t++) UNROLL for (int i = 0; i < weights; i++)
        put(kind, f->y, t, i, v_sum(sum[t][i]));
}

/* Fewer than ROWS rows of x. */
INLINE void fewer(int64_t n, int weights, OperandKind kind, Fetch fetch, const Few *f) {
    switch (n) {
    case 1: dots(1, weights, kind, FETCH_NONE, f); break;
    case 2: dots(2, weights, kind, fetch, f); break;
    case 3: dots(3, weights, kind, fetch, f); break;
    default: break;
    }
}

/* ROWS rows of x by 'weights' rows of w, then on to the rows of x after them. */
INLINE void gemv_some_rows(int weights, OperandKind kind, Fetch fetch, int64_t *n, Few *f) {
    dots(ROWS, weights, kind, fetch, f);
    *n -= ROWS;
    f->x = rows_of_x(kind, f, ROWS);
    f->y = later(kind, f->y, ROWS, 0);
}

/* n rows of x by 'weights' rows of w. Memory should never have a pause, so two turns share what is
** asked for. */
INLINE void gemv_all_rows(int64_t n, int weights, OperandKind kind, Few f) {
    if (n >= 2 * ROWS) {
        gemv_some_rows(weights, kind, FETCH_FIRST_HALF, &n, &f);
        gemv_some_rows(weights, kind, FETCH_SECOND_HALF, &n, &f);
    } else if (n >= ROWS) gemv_some_rows(weights, kind, FETCH_ALL, &n, &f);
    while (n >= ROWS)
        gemv_some_rows(weights, kind, FETCH_NONE, &n, &f);
    fewer(n, weights, kind, FETCH_NONE, &f);
}

/* One row of x: a function for each kind, so that what waits for the next weights is a loop in
** registers. Rows of w one by one, in the order of memory: processors look ahead further to one
** stream than to some side by side. */
INLINE void one_row(int64_t columns, OperandKind kind, Few f) {
    for (; columns > 0; columns--, f.w = rows_of_w(kind, &f, 1), f.y = later(kind, f.y, 0, 1))
        dots(1, 1, kind, FETCH_NONE, &f);
}

NOINLINE void one_row_floats(int64_t columns, const Few *f) { one_row(columns, FLOATS, *f); }
NOINLINE void one_row_rounded(int64_t columns, const Few *f) { one_row(columns, ROUNDED, *f); }
NOINLINE void one_row_bf16(int64_t columns, const Few *f) { one_row(columns, BF16, *f); }

/* Columns [m0,m1) of y. */
INLINE void all_columns(int64_t n, int64_t m0, int64_t m1, OperandKind kind, Few f,
                        float *scratch) {
    int64_t weights = gemv_weights_of(kind, n), columns = m1 - m0;
    f.w = rows_of_w(kind, &f, m0);
    f.y = later(kind, f.y, 0, m0);
#if STRATA_TILES
    if (kind == BF16 && scratch && f.k <= FEW_TILE_STEPS) {
        k_few_tiles(n, columns, &f, scratch);
        return;
    }
#endif
    if (n == 1) {
        (kind == FLOATS        ? one_row_floats
             : kind == ROUNDED ? one_row_rounded
                               : one_row_bf16)(columns, &f);
        return;
    }
    if (LANES < 16 && scratch && n >= FEW_ROWS && f.k <= FEW_STEPS) {
        int64_t most = columns / FEW_WEIGHTS * FEW_WEIGHTS;
        k_few_rows(n, most, kind, &f, scratch);
        columns -= most;
        f.w = rows_of_w(kind, &f, most);
        f.y = later(kind, f.y, 0, most);
    }
    for (; columns >= weights; columns -= weights, f.w = rows_of_w(kind, &f, weights),
                                                   f.y = later(kind, f.y, 0, weights)) {
        if (n < ROWS) fewer(n, gemv_weights_of(kind, 1), kind, FETCH_ALL, &f);
        else gemv_all_rows(n, gemv_weights_of(kind, ROWS), kind, f);
    }
    for (; columns > 0; columns--, f.w = rows_of_w(kind, &f, 1), f.y = later(kind, f.y, 0, 1))
        gemv_all_rows(n, 1, kind, f);
}

void k_linear_few(int64_t n, int64_t m0, int64_t m1, int64_t k, const float *x, int64_t ldx,
                  const float *w, int64_t ldw, float *y, int64_t ldy, int add, float *scratch) {
    all_columns(n, m0, m1, FLOATS, (Few){ k, ldx, ldw, x, w, { y, 0, ldy, add } }, scratch);
}

void k_linear_few_bf16(int64_t n, int64_t m0, int64_t m1, int64_t k, const uint16_t *x, int64_t ldx,
                       const float *w, int64_t ldw, Result y, float *scratch) {
    all_columns(n, m0, m1, ROUNDED, (Few){ k, ldx, ldw, x, w, y }, scratch);
}

void k_linear_few_bf16_weights(int64_t n, int64_t m0, int64_t m1, int64_t k, const uint16_t *x,
                               int64_t ldx, const uint16_t *w, int64_t ldw, Result y,
                               float *scratch) {
    all_columns(n, m0, m1, BF16, (Few){ k, ldx, ldw, x, w, y }, scratch);
}
