/*
** y = x w^T for few rows of x (decoding): the weights are not packed, and each
** is read from memory once for up to ROWS_MAX rows.
**
** An element is a dot product: lane l of one vector sums the products at
** l, l + LANES, .. in order, then v_sum adds the lanes.  How many rows of x and
** of w are taken together changes the loads, never that order.
**
** A piece of x small enough for the first-level cache meets a block of rows of
** w before the next piece does.  It is copied: rows of x whose distance is a
** power of two would meet in one cache set.
*/
#include "kernels.h"
#include "vector.h"

enum { ROWS_MAX = 8, WEIGHTS_MAX = 4, BLOCK = 32 };
/* Sums held in registers: leaves some for the weights and x. */
enum { SUMS_MAX = LANES == 16 ? 24 : 12 };
/* Floats of x in a piece, and between the rows of its copy. */
enum { PIECE = 4096, GAP = 16 };

typedef struct Few {
    int64_t k, ldx, ldw, ldy;
    const float *x, *w;
    float *y;
    int add;
} Few;

/* Sums so far of a block's rows of w with each row of x. */
typedef V Sums[BLOCK][ROWS_MAX];

/* Adds the products of 'rows' rows of x with 'weights' rows of w, both constants
** where inlined, over k steps. */
INLINE void dots(int rows, int weights, int64_t k, const float *x, int64_t ldx, const float *w, int64_t ldw, V (*sums)[ROWS_MAX])
{
    V sum[WEIGHTS_MAX][ROWS_MAX], weight[WEIGHTS_MAX];
    UNROLL for (int i = 0; i < weights; i++)
        UNROLL for (int t = 0; t < rows; t++)
            sum[i][t] = sums[i][t];
    for (; k >= LANES; k -= LANES, x += LANES, w += LANES) {
        UNROLL for (int i = 0; i < weights; i++)
            weight[i] = v_load(w + i * ldw);
        UNROLL for (int t = 0; t < rows; t++) {
            V value = v_load(x + t * ldx);
            UNROLL for (int i = 0; i < weights; i++)
                sum[i][t] = v_fma(value, weight[i], sum[i][t]);
        }
    }
    if (k > 0) {
        UNROLL for (int i = 0; i < weights; i++)
            weight[i] = v_load_part(w + i * ldw, k);
        UNROLL for (int t = 0; t < rows; t++) {
            V value = v_load_part(x + t * ldx, k);
            UNROLL for (int i = 0; i < weights; i++)
                sum[i][t] = v_fma(value, weight[i], sum[i][t]);
        }
    }
    UNROLL for (int i = 0; i < weights; i++)
        UNROLL for (int t = 0; t < rows; t++)
            sums[i][t] = sum[i][t];
}

/* The same for all 'columns' rows of w of a block. */
INLINE void dots_block(int rows, int64_t columns, int64_t k, const float *x, int64_t ldx, const float *w, int64_t ldw, Sums sums)
{
    const int weights = SUMS_MAX / rows < 1 ? 1 : SUMS_MAX / rows < WEIGHTS_MAX ? SUMS_MAX / rows : WEIGHTS_MAX;
    int64_t i = 0;
    for (; i + weights <= columns; i += weights)
        dots(rows, weights, k, x, ldx, w + i * ldw, ldw, sums + i);
    for (; i < columns; i++)
        dots(rows, 1, k, x, ldx, w + i * ldw, ldw, sums + i);
}

/* 'rows' <= ROWS_MAX rows of x by 'columns' rows of w. */
INLINE void few(int rows, int64_t columns, const Few *f)
{
    float copy[PIECE + ROWS_MAX * GAP];
    Sums sums;
    const int64_t piece = PIECE / rows / LANES * LANES, ldcopy = piece + GAP;
    for (int64_t j = 0; j < columns; j += BLOCK) {
        int64_t block = columns - j < BLOCK ? columns - j : BLOCK;
        for (int64_t i = 0; i < block; i++)
            for (int t = 0; t < rows; t++)
                sums[i][t] = v_zero();
        for (int64_t s = 0; s < f->k; s += piece) {
            int64_t steps = f->k - s < piece ? f->k - s : piece;
            for (int t = 0; t < rows && (j == 0 || f->k > piece); t++)
                __builtin_memcpy(copy + t * ldcopy, f->x + t * f->ldx + s, (size_t)steps * sizeof *copy);
            dots_block(rows, block, steps, copy, ldcopy, f->w + j * f->ldw + s, f->ldw, sums);
        }
        for (int64_t i = 0; i < block; i++)
            for (int t = 0; t < rows; t++) {
                float *y = f->y + t * f->ldy + j + i;
                *y = f->add ? *y + v_sum(sums[i][t]) : v_sum(sums[i][t]);
            }
    }
}

void k_linear_few(int64_t n, int64_t m0, int64_t m1, int64_t k, const float *x, int64_t ldx, const float *w, int64_t ldw,
                  float *y, int64_t ldy, int add)
{
    Few f = {k, ldx, ldw, ldy, x, w + m0 * ldw, y + m0, add};
    for (; n > 0; n -= ROWS_MAX, f.x += ROWS_MAX * ldx, f.y += ROWS_MAX * ldy)
        switch (n) {
        case 1: few(1, m1 - m0, &f); break;
        case 2: few(2, m1 - m0, &f); break;
        case 3: few(3, m1 - m0, &f); break;
        case 4: few(4, m1 - m0, &f); break;
        case 5: few(5, m1 - m0, &f); break;
        case 6: few(6, m1 - m0, &f); break;
        case 7: few(7, m1 - m0, &f); break;
        default: few(8, m1 - m0, &f); break;
        }
}
