/* SPDX-License-Identifier: MIT
** Blocks of bfloat16 products for processors without an instruction for them: packed weights are
** rounded float32 numbers; activations are converted to float32, MR rows at a time, in memory that
** stays in the first-level cache.
*/
#ifndef STRATA_WIDEN_H
#define STRATA_WIDEN_H

#include "gemm_tile.h"

/* Steps of a block at most. Rows of a transposed left operand packed at once; floats of one. */
enum { STEPS_UNIT = 4, ROWS_UNIT = MR, STEPS_PART = STEPS_MAX, SUM_ONCE = 2 * MR };
enum { GROUP = 8 * MR, LEFT_ROOM = GROUP * STEPS_MAX };
enum { WIDEN_AHEAD = 8 }; /* rows that packing asks for in advance */

INLINE int64_t panel_room(int64_t steps) { return panel_stride(steps); }

NOINLINE void pack_weight_columns(int64_t columns, int64_t steps, const float *w, int64_t ldw,
                                  float *out) {
    pack_transposed(columns, steps, w, ldw, out, 1);
}

NOINLINE void pack_weight_rows(int64_t columns, int64_t steps, const float *w, int64_t ldw,
                               float *out) {
    pack_rows(columns, steps, w, ldw, out, 1);
}

/* The block whose columns are the first 'columns' of x[steps, ..]. */
NOINLINE void pack_tokens(int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                          float *out) {
    for (int64_t s = 0; s < steps; s++, x += ldx, out += PANEL)
        for (int64_t j = 0, panel = 0; j < columns; j += PANEL, panel += panel_room(steps)) {
            __builtin_prefetch(x + WIDEN_AHEAD * ldx + j);
            widen(columns - j < PANEL ? columns - j : PANEL, x + j, out + panel);
        }
}

/* 'rows' of x, at most MR, side by side in 'left', against the block. */
INLINE void widened(int rows, int64_t steps, const uint16_t *x, int64_t ldx, const float *block,
                    float *c, int64_t ldc, int64_t columns, int add, float *left, Soon *soon) {
    UNROLL for (int r = 0; r < rows; r++) widen(steps, x + r * ldx, left + r * STEPS_MAX);
    sweep(rows, steps, (Left){ left, STEPS_MAX, 1, 0, soon }, block, c, ldc, columns, add);
}

/* y[rows, columns] (+)= x[rows, steps] block. Meanwhile 'then' arrives. */
NOINLINE void multiply_tokens(int64_t rows, int64_t steps, const uint16_t *x, int64_t ldx,
                              const float *block, BlockTarget y, int64_t columns, float *left,
                              Ahead then) {
    Soon soon = { { nothing_ahead(), 0, 0, 0 }, asked_late(then, tiles_of(rows, columns), steps) };
    float *c = y.c;
    int64_t all = rows;
    for (; rows >= MR; rows -= MR, x += MR * ldx, c += MR * y.ldc)
        widened(MR, steps, x, ldx, block, c, y.ldc, columns, y.add, left, &soon);
    UNROLL for (int part = 8; part > 0; part /= 2) if (part < MR && rows & part) {
        widened(part, steps, x, ldx, block, c, y.ldc, columns, y.add, left, &soon);
        x += part * ldx;
        c += part * y.ldc;
    }
    if (y.bf16) narrow_rows(all, columns, y.c, y.ldc, y.bf16, y.ldbf16);
}

/* The transpose of dy[steps, rows] in groups of MR rows, step after step. */
INLINE void widen_left(int64_t rows, int64_t steps, const uint16_t *dy, int64_t lddy, float *out) {
    for (int64_t s = 0; s < steps; s++, dy += lddy)
        for (int64_t g = 0; g < rows; g += MR) {
            float *to = out + g * steps + s * MR;
            __builtin_prefetch(dy + WIDEN_AHEAD * lddy + g);
            for (int64_t r = 0; r < MR && g + r < rows; r++)
                to[r] = __builtin_bit_cast(float, (uint32_t)dy[g + r] << 16);
        }
}

/* y[rows, columns] (+)= dy[steps, rows]^T block, rows <= GROUP */
NOINLINE void multiply_transposed(int64_t rows, int64_t steps, const uint16_t *dy, int64_t lddy,
                                  const float *block, BlockTarget y, int64_t columns, float *left) {
    widen_left(rows, steps, dy, lddy, left);
    multiply(rows, steps, (Left){ left, 1, MR, MR * steps, 0 }, block, y.c, y.ldc, columns, y.add);
}

#endif
