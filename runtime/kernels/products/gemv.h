/* SPDX-License-Identifier: MIT
** What gemv.c and gemv_rows.c share: the operands of y = x w^T for few rows of x.
**
** An element is a dot product: lane l of one vector sums the products at
** l, l + LANES, .. in order (of bfloat16s both, the pairs at 2 l, 2 l + 2 LANES, ..),
** then v_sum adds the lanes.  How many rows of x and of w are taken together changes
** the loads, never that order.
*/
#ifndef STRATA_GEMV_H
#define STRATA_GEMV_H

#include "kernels.h"
#include "vector.h"

/* What x and w are: float32 both; of --precision bf16, bfloat16 and float32 to be rounded, or
** bfloat16 both. */
typedef enum OperandKind { FLOATS, ROUNDED, BF16 } OperandKind;

/* Numbers of a cache line of w, and of a vector. */
INLINE int64_t line_of(OperandKind kind) { return kind == BF16 ? 32 : 16; }
INLINE int64_t numbers_of(OperandKind kind) { return kind == BF16 ? 2 * LANES : LANES; }

typedef struct Few {
    int64_t k, ldx, ldw;
    const void *x, *w; /* as the kind says */
    Result y;
} Few;

INLINE int64_t size_of_x(OperandKind kind) {
    return kind == FLOATS ? sizeof(float) : sizeof(uint16_t);
}
INLINE int64_t size_of_w(OperandKind kind) {
    return kind == BF16 ? sizeof(uint16_t) : sizeof(float);
}

/* Rows i on. */
INLINE const void *rows_of_x(OperandKind kind, const Few *f, int64_t i) {
    return (const char *)f->x + i * f->ldx * size_of_x(kind);
}
INLINE const void *rows_of_w(OperandKind kind, const Few *f, int64_t i) {
    return (const char *)f->w + i * f->ldw * size_of_w(kind);
}

INLINE V load_floats(const float *p, int64_t left) {
    return left >= LANES ? v_load(p) : v_load_part(p, left);
}
INLINE V load_bf16(const uint16_t *p, int64_t left) {
    return left >= LANES ? v_load_bf16(p) : v_load_bf16_part(p, left);
}

/* Two bfloat16s a lane, as they lie. */
INLINE V load_pairs(const uint16_t *p, int64_t left) {
    if (left >= 2 * LANES) return v_load_pairs(p);
#ifdef SIMD_PAIRS_PART
    return v_load_pairs_part(p, left);
#else
    VU x = { 0 };
    for (int l = 0; l < LANES; l++)
        x[l] = (2 * l < left ? p[2 * l] : 0u)
            | (2 * l + 1 < left ? (uint32_t)p[2 * l + 1] << 16 : 0u);
    return (V)x;
#endif
}

/* The result so many rows and columns further on. */
INLINE Result later(OperandKind kind, Result y, int64_t rows, int64_t columns) {
    if (kind != FLOATS) return result_at(y, rows, columns);
    y.floats += rows * y.ld + columns;
    return y;
}

INLINE void put(OperandKind kind, Result y, int64_t row, int64_t column, float x) {
    int64_t at = row * y.ld + column;
    if (kind != FLOATS && y.bf16) y.bf16[at] = v_narrow(v_splat(x))[0];
    else y.floats[at] = y.add ? y.floats[at] + x : x;
}

/* gemv_rows.c, where vectors have fewer than 16 lanes: FEW_ROWS or more rows of x by 'columns' rows
** of w, a multiple of FEW_WEIGHTS, of FEW_STEPS numbers at most; k_few_scratch() bytes. */
enum {
    FEW_ROWS = 5,
    FEW_WEIGHTS = 2,
    FEW_FLOATS = 1 << 16,
    FEW_STEPS = FEW_FLOATS / FEW_ROWS - 2 * LANES
};
void k_few_rows(int64_t n, int64_t columns, OperandKind kind, const Few *f, float *scratch);

/* gemv_tiles.c, where there are tiles: n rows of x by 'columns' rows of w, bfloat16s of
** FEW_TILE_STEPS steps at most; k_few_scratch() bytes. */
enum { FEW_TILE_STEPS = FEW_FLOATS / 8 };
void k_few_tiles(int64_t n, int64_t columns, const Few *f, float *scratch);

#endif
