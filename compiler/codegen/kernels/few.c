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
    const uint16_t *half;       /* x of --precision bf16, instead of x */
    float *y;
    int add;
} Few;

/* A vector of each row of x at 'at', of which 'left' numbers are left, zeros after them. */
INLINE void load_x(int rows, bool bf16, const Few *f, int64_t at, int64_t left, V *x)
{
    UNROLL for (int r = 0; r < rows; r++) {
        if (bf16) {
            const uint16_t *p = f->half + r * f->ldx + at;
            x[r] = left >= LANES ? v_load_half(p) : v_load_half_part(p, left);
        } else {
            const float *p = f->x + r * f->ldx + at;
            x[r] = left >= LANES ? v_load(p) : v_load_part(p, left);
        }
    }
}

/* The same of w, rounded to bfloat16 if x is bfloat16. */
INLINE void load_w(int rows, bool bf16, const Few *f, int64_t at, int64_t left, V *w)
{
    UNROLL for (int r = 0; r < rows; r++) {
        const float *p = f->w + r * f->ldw + at;
        V x = left >= LANES ? v_load(p) : v_load_part(p, left);
        w[r] = bf16 ? v_bf16(x) : x;
    }
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
INLINE void dots(int rows, int weights, bool bf16, bool fetch, const Few *f)
{
    V sum[ROWS][WEIGHTS_FEWER], value[ROWS], weight[WEIGHTS_FEWER];
    UNROLL for (int t = 0; t < rows; t++)
        UNROLL for (int i = 0; i < weights; i++)
            sum[t][i] = v_zero();
    int64_t k = f->k, at = 0, ldw = f->ldw;
    for (; at + LINE <= k; ) {
        UNROLL for (int i = 0; i < weights && fetch; i++)
            __builtin_prefetch(f->w + at + (weights + i) * ldw, 0, 2);
        UNROLL for (int part = 0; part < LINE; part += LANES, at += LANES) {
            load_x(rows, bf16, f, at, LANES, value);
            load_w(weights, bf16, f, at, LANES, weight);
            step(rows, weights, value, weight, sum);
        }
    }
    for (; at < k; at += LANES) {
        load_x(rows, bf16, f, at, k - at, value);
        load_w(weights, bf16, f, at, k - at, weight);
        step(rows, weights, value, weight, sum);
    }
    UNROLL for (int t = 0; t < rows; t++)
        UNROLL for (int i = 0; i < weights; i++) {
            float *y = f->y + t * f->ldy + i;
            *y = f->add ? *y + v_sum(sum[t][i]) : v_sum(sum[t][i]);
        }
}

/* Fewer than ROWS rows of x. */
INLINE void fewer(int64_t n, int weights, bool bf16, bool fetch, const Few *f)
{
    switch (n) {
    case 1: dots(1, weights, bf16, false, f); break;
    case 2: dots(2, weights, bf16, fetch, f); break;
    case 3: dots(3, weights, bf16, fetch, f); break;
    default: break;
    }
}

/* n rows of x by 'weights' rows of w. */
INLINE void all_rows(int64_t n, int weights, bool bf16, Few f)
{
    for (bool first = true; n >= ROWS; first = false, n -= ROWS, f.x += ROWS * f.ldx, f.half += ROWS * f.ldx, f.y += ROWS * f.ldy)
        if (first)
            dots(ROWS, weights, bf16, true, &f);
        else
            dots(ROWS, weights, bf16, false, &f);
    fewer(n, weights, bf16, false, &f);
}

/* Columns of y of which w's rows begin at f->w. */
INLINE void all_columns(int64_t n, int64_t columns, bool bf16, Few f)
{
    int64_t weights = n < ROWS ? WEIGHTS_FEWER : WEIGHTS;
    for (; columns >= weights; columns -= weights, f.w += weights * f.ldw, f.y += weights) {
        if (n < ROWS)
            fewer(n, WEIGHTS_FEWER, bf16, true, &f);
        else
            all_rows(n, WEIGHTS, bf16, f);
    }
    for (; columns > 0; columns--, f.w += f.ldw, f.y++)
        all_rows(n, 1, bf16, f);
}

void k_linear_few(int64_t n, int64_t m0, int64_t m1, int64_t k, const float *x, int64_t ldx, const float *w, int64_t ldw,
                  float *y, int64_t ldy, int add)
{
    all_columns(n, m1 - m0, false, (Few){k, ldx, ldw, ldy, x, w + m0 * ldw, (const uint16_t *)x, y + m0, add});
}

void k_linear_few_bf16(int64_t n, int64_t m0, int64_t m1, int64_t k, const uint16_t *x, int64_t ldx, const float *w, int64_t ldw,
                       float *y, int64_t ldy, int add)
{
    all_columns(n, m1 - m0, true, (Few){k, ldx, ldw, ldy, (const float *)x, w + m0 * ldw, x, y + m0, add});
}
