/* SPDX-License-Identifier: MIT
** Products with small weights and rows of small tables (small_product.c).  A matrix has 'bits' 8
** or 4 and lies on lines of 64 bytes, as small_weights.h says.  Rules as of kernels.h.
*/
#ifndef STRATA_SMALL_PRODUCT_H
#define STRATA_SMALL_PRODUCT_H

#include "kernels.h"
#include "small_weights.h"

typedef struct SmallWeights {
    const uint8_t *at;
    int64_t columns, steps;
    int bits;
} SmallWeights;

/* One of them is NULL. */
typedef struct SmallRows {
    const float *floats;
    const uint16_t *bf16;
    int64_t ld;
} SmallRows;

/* Bytes that products of so many steps work in. */
int64_t k_small_scratch(int64_t steps);
/* Columns [m0,m1), m0 a multiple of PANEL_COLUMNS, of y = (add ? y : 0) + x w^T, x rounded to 8
** bits.  A row's bits depend on nothing but the row. */
void k_linear_small(int64_t n, int64_t m0, int64_t m1, SmallRows x, const SmallWeights *w, Result y,
                    float *scratch);
/* Rows of the matrix by id: y[n,steps] */
void k_embed_small(int64_t n, const SmallWeights *w, const int32_t *ids, float *y, int64_t ldy);

#endif
