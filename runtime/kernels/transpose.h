/* SPDX-License-Identifier: MIT
** Parts of rows, and squares of LANES by LANES floats whose rows become columns, or sums. */
#ifndef STRATA_TRANSPOSE_H
#define STRATA_TRANSPOSE_H

#include "vector.h"

/* One vector of y's row of which 'width' floats are left. */
INLINE V load_left(const float *y, int64_t width) {
    return width >= LANES ? v_load(y) : v_load_part(y, width);
}

INLINE void store_left(float *y, int64_t width, V x) {
    if (width >= LANES) v_store(y, x);
    else v_store_part(y, x, width);
}

enum { LANES_LOG = LANES == 16 ? 4 : LANES == 8 ? 3 : 2 };

#if LANES == 16
#define LOW_HALVES(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_HALVES(a, b) \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif LANES == 8
#define LOW_HALVES(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_HALVES(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define LOW_HALVES(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_HALVES(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

/* Perfect shuffles of n vectors, a power of two, one after another: log2(n) of them put numbers of
** the vectors side by side, log2(LANES) more give the vectors again. */
INLINE void shuffle(int n, int times, V *r) {
    UNROLL for (int round = 0; n > 1 && round < times; round++) {
        V t[LANES];
        UNROLL for (int i = 0; i < n / 2; i++) {
            t[2 * i] = LOW_HALVES(r[i], r[i + n / 2]);
            t[2 * i + 1] = HIGH_HALVES(r[i], r[i + n / 2]);
        }
        UNROLL for (int i = 0; i < n; i++) r[i] = t[i];
    }
}

/* A square of LANES vectors, rows become columns. */
INLINE void transpose(V r[LANES]) { shuffle(LANES, LANES_LOG, r); }

/* v_sum of each of 4 vectors, the same bits, in the first 4 lanes. */
INLINE V few_sums_of(const V r[4]) {
    V low = LOW_HALVES(r[0], r[2]) + HIGH_HALVES(r[0], r[2]),
      high = LOW_HALVES(r[1], r[3]) + HIGH_HALVES(r[1], r[3]),
      x = LOW_HALVES(low, high) + HIGH_HALVES(low, high);
#if LANES == 16
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
#elif LANES == 8
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
#endif
    return x;
}

/* v_sum of each of LANES vectors, the same bits. */
INLINE V sums_of(V r[LANES]) {
    UNROLL for (int n = LANES / 2; n > 0; n /= 2) UNROLL for (int i = 0; i < n; i++)
        r[i] = LOW_HALVES(r[i], r[i + n]) + HIGH_HALVES(r[i], r[i + n]);
    return r[0];
}

#endif
