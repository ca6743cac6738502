/*
** y = x w^T for few rows of x (decoding): nothing is packed.  Some rows of w
** meet all rows of x before the next ones do, ROWS rows of x at a time, so that
** each weight is read from memory once, then from the caches.
**
** An element is a dot product: lane l of one vector sums the products at
** l, l + LANES, .. in order, then v_sum adds the lanes.  How many rows of x and
** of w are taken together changes the loads, never that order.
*/
#include <stdbool.h>
#include "kernels.h"
#include "vector.h"

/* Rows of x at a time, and of w with them or with fewer: their sums are in
** registers.  No more rows than a set of the first-level cache has ways: with
** leading dimensions that are powers of two they all meet in one set. */
enum { ROWS = 4, WEIGHTS = LANES == 16 ? 4 : 3, WEIGHTS_FEWER = 4 };
enum { LINE = 16 }; /* floats of a cache line */

typedef struct Few {
    int64_t k, ldx, ldw, ldy;
    const float *x, *w;
    float *y;
    int add;
} Few;

/* A vector of each row. */
INLINE void load(int rows, const float *p, int64_t ld, V *x)
{
    UNROLL for (int r = 0; r < rows; r++)
        x[r] = v_load(p + r * ld);
}

/* The same at the end of rows with 'left' floats left, zeros after them. */
INLINE void load_part(int rows, const float *p, int64_t ld, int64_t left, V *x)
{
    UNROLL for (int r = 0; r < rows; r++)
        x[r] = left >= LANES ? v_load(p + r * ld) : v_load_part(p + r * ld, left);
}

/* One step of LANES products: of each of 'rows' rows of x with each of 'weights' rows of w. */
INLINE void step(int rows, int weights, const V *x, const V *w, V (*sum)[WEIGHTS_FEWER])
{
    UNROLL for (int t = 0; t < rows; t++)
        UNROLL for (int i = 0; i < weights; i++)
            sum[t][i] = v_fma(x[t], w[i], sum[t][i]);
}

/* 'rows' rows of x by 'weights' rows of w, both constants where inlined.  'fetch':
** with the next rows of w asked for, as several rows of x keep the processor too
** busy to run ahead to them. */
INLINE void dots(int rows, int weights, bool fetch, const Few *f)
{
    V sum[ROWS][WEIGHTS_FEWER], value[ROWS], weight[WEIGHTS_FEWER];
    UNROLL for (int t = 0; t < rows; t++)
        UNROLL for (int i = 0; i < weights; i++)
            sum[t][i] = v_zero();
    int64_t k = f->k, at = 0, ldx = f->ldx, ldw = f->ldw;
    for (; at + LINE <= k; ) {
        UNROLL for (int i = 0; i < weights && fetch; i++)
            __builtin_prefetch(f->w + at + (weights + i) * ldw, 0, 2);
        UNROLL for (int part = 0; part < LINE; part += LANES, at += LANES) {
            load(rows, f->x + at, ldx, value);
            load(weights, f->w + at, ldw, weight);
            step(rows, weights, value, weight, sum);
        }
    }
    for (; at < k; at += LANES) {
        load_part(rows, f->x + at, ldx, k - at, value);
        load_part(weights, f->w + at, ldw, k - at, weight);
        step(rows, weights, value, weight, sum);
    }
    UNROLL for (int t = 0; t < rows; t++)
        UNROLL for (int i = 0; i < weights; i++) {
            float *y = f->y + t * f->ldy + i;
            *y = f->add ? *y + v_sum(sum[t][i]) : v_sum(sum[t][i]);
        }
}

/* Fewer than ROWS rows of x. */
INLINE void fewer(int64_t n, int weights, bool fetch, const Few *f)
{
    switch (n) {
    case 1: dots(1, weights, false, f); break;
    case 2: dots(2, weights, fetch, f); break;
    case 3: dots(3, weights, fetch, f); break;
    default: break;
    }
}

/* n rows of x by 'weights' rows of w. */
INLINE void all_rows(int64_t n, int weights, Few f)
{
    for (bool first = true; n >= ROWS; first = false, n -= ROWS, f.x += ROWS * f.ldx, f.y += ROWS * f.ldy)
        if (first)
            dots(ROWS, weights, true, &f);
        else
            dots(ROWS, weights, false, &f);
    fewer(n, weights, false, &f);
}

void k_linear_few(int64_t n, int64_t m0, int64_t m1, int64_t k, const float *x, int64_t ldx, const float *w, int64_t ldw,
                  float *y, int64_t ldy, int add)
{
    Few f = {k, ldx, ldw, ldy, x, w + m0 * ldw, y + m0, add};
    int64_t left = m1 - m0, weights = n < ROWS ? WEIGHTS_FEWER : WEIGHTS;
    for (; left >= weights; left -= weights, f.w += weights * ldw, f.y += weights) {
        if (n < ROWS)
            fewer(n, WEIGHTS_FEWER, true, &f);
        else
            all_rows(n, WEIGHTS, f);
    }
    for (; left > 0; left--, f.w += ldw, f.y++)
        all_rows(n, 1, f);
}
