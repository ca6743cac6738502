/* SPDX-License-Identifier: MIT
** Blocks of bfloat16 products in tiles: 32 x 32 sums are four tiles, and every 32 steps add the
** products of two tiles of each operand. 32 rows of the left operand stay in the first-level cache
** while the panels of a block stream past them from the second-level cache.  Storing costs more
** than loading, so all steps of a block are added up in registers.
**
** Part of bf16_dot.h.
*/
#ifndef STRATA_BF16_TILES_H
#define STRATA_BF16_TILES_H

#include "asking.h"

/* Rows rounded for each 32 steps of the sums that come next. */
enum { ROUNDED_ONCE = 8 };

/* A finished 32 x 32 block of sums that becomes bfloat16 while the next one is multiplied: the
** rows from 'row' on are left. */
typedef struct Rounding {
    const float *sum;
    uint16_t *to;
    int64_t ld, row;
} Rounding;

INLINE void round_some(Rounding *r) {
    const float *sum = r->sum + r->row * PANEL;
    uint16_t *to = r->to + r->row * r->ld;
    UNROLL for (int i = 0; i < ROUNDED_ONCE; i++) for (int v = 0; v < PANEL; v += LANES)
        v_store_bf16(to + i * r->ld + v, v_load(sum + i * PANEL + v));
    r->row += ROUNDED_ONCE;
}

INLINE void round_rest(Rounding *r) {
    while (r->row < ROWS_UNIT)
        round_some(r);
}

/* sum[32, 32] = (c, or 0) + a[32, steps] panel */
INLINE void four_tiles(int64_t steps, const uint16_t *a, int64_t lda, const float *panel,
                       const float *c, int64_t ldc, float *sum, int64_t ldsum, Rounding *late,
                       TilesSoon *soon) {
    int64_t row = lda * (int64_t)sizeof *a, in = ldc * 4, out = ldsum * 4;
    TILES_HERE;
    if (c) {
        t_load(0, c, in);
        t_load(1, c + TILE, in);
        t_load(2, c + TILE * ldc, in);
        t_load(3, c + TILE * ldc + TILE, in);
    } else {
        t_zero(0);
        t_zero(1);
        t_zero(2);
        t_zero(3);
    }
    for (int64_t s = 0; s < steps; s += TILE_STEPS, a += TILE_STEPS, panel += TILE * PANEL) {
        t_load(4, a, row);
        t_stream(6, panel, PANEL * 4);
        t_load(5, a + TILE * lda, row);
        t_stream(7, panel + TILE, PANEL * 4);
        t_dot(0, 4, 6);
        t_dot(1, 4, 7);
        t_dot(2, 5, 6);
        t_dot(3, 5, 7);
        if (late->row < ROWS_UNIT) round_some(late);
        ask(&soon->then);
        ask(&soon->left);
    }
    t_store(0, sum, out);
    t_store(1, sum + TILE, out);
    t_store(2, sum + TILE * ldsum, out);
    t_store(3, sum + TILE * ldsum + TILE, out);
}

/* 'rows' of so many bytes. */
INLINE void copy_rows(int64_t rows, int64_t bytes, const void *from, int64_t from_step, void *to,
                      int64_t to_step) {
    for (int64_t r = 0; r < rows; r++)
        __builtin_memcpy((char *)to + r * to_step, (const char *)from + r * from_step,
                         (size_t)bytes);
}

/* The same where y has fewer rows or columns: in 'edge', which starts as y so that no sum is
** rounded otherwise than in the middle. */
INLINE void edge_tiles(int64_t rows, int64_t columns, int64_t steps, const uint16_t *a, int64_t lda,
                       const float *panel, BlockTarget y, float *edge, TilesSoon *soon) {
    int64_t bytes = columns * (int64_t)sizeof *edge, row = y.ldc * (int64_t)sizeof *edge;
    Rounding none = { 0, 0, 0, ROWS_UNIT };
    if (y.add) copy_rows(rows, bytes, y.c, row, edge, PANEL * 4);
    four_tiles(steps, a, lda, panel, y.add ? edge : 0, PANEL, edge, PANEL, &none, soon);
    if (y.bf16) narrow_rows(rows, columns, edge, PANEL, y.bf16, y.ldbf16);
    else copy_rows(rows, bytes, edge, PANEL * 4, y.c, row);
}

INLINE BlockTarget target_at(BlockTarget y, int64_t row, int64_t column) {
    y.c += row * y.ldc + column;
    if (y.bf16) y.bf16 += row * y.ldbf16 + column;
    return y;
}

/* 32 x 32 results; those that become bfloat16 add up in one of two blocks at 'edge', the one that
** is not being rounded. */
INLINE void whole_tiles(int64_t steps, const uint16_t *a, int64_t lda, const float *panel,
                        BlockTarget y, float *edge, Rounding *late, TilesSoon *soon) {
    float *sum = y.bf16 ? edge + (late->sum == edge ? ROWS_UNIT * PANEL : 0) : y.c;
    four_tiles(steps, a, lda, panel, y.add ? y.c : 0, y.ldc, sum, y.bf16 ? PANEL : y.ldc, late,
               soon);
    round_rest(late);
    if (y.bf16) *late = (Rounding){ sum, y.bf16, y.ldbf16, 0 };
}

/* Whether 32 rows so far apart want more lines of some set of the first-level cache than it has. */
INLINE int rows_collide(int64_t steps, int64_t lda) {
    enum { SETS = 64, WAYS = 12, LINE = 32 };
    int64_t lines = steps / LINE, apart = lda / LINE, wanted = 0;
    for (int64_t r = 0; r < ROWS_UNIT; r++)
        wanted += ((lines - 1 + (ROWS_UNIT / 2 - r) * apart) & (SETS - 1)) < lines;
    return wanted > WAYS - 2;
}

/* 32 rows or fewer against all panels; 'spare': room for rows filled up with zeros, or copied. */
INLINE void tile_rows(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                      const float *block, BlockTarget y, int64_t columns, int copied, float *spare,
                      TilesSoon *soon) {
    int64_t whole = round_steps(steps, STEPS_UNIT);
    float *edge = spare + SPARE_ROOM;
    Rounding late = { 0, 0, 0, ROWS_UNIT };
    if (rows < ROWS_UNIT || whole > steps || copied) {
        int64_t ld = whole + SPARE_APART;
        if (rows < ROWS_UNIT || whole > steps)
            __builtin_memset(spare, 0, (size_t)(ROWS_UNIT * ld) * sizeof *a);
        copy_rows(rows, steps * (int64_t)sizeof *a, a, lda * (int64_t)sizeof *a, spare,
                  ld * (int64_t)sizeof *a);
        a = (const uint16_t *)spare;
        lda = ld;
    }
    for (int64_t j = 0; j < columns; j += PANEL, block += panel_room(steps)) {
        int64_t here = columns - j < PANEL ? columns - j : PANEL;
        if (rows < ROWS_UNIT || here < PANEL) {
            round_rest(&late);
            edge_tiles(rows, here, whole, a, lda, block, target_at(y, 0, j), edge, soon);
        } else {
            whole_tiles(whole, a, lda, block, target_at(y, 0, j), edge, &late, soon);
        }
    }
    round_rest(&late);
}

/* What of the next 32 rows may lie beyond the second-level cache, and is asked for: of rows that
** take more than FAR_BYTES.  Of fewer asking costs more than it gains: 3 % of a step at D 128. */
typedef enum Far { FAR_NOTHING, FAR_LEFT } Far;
enum { FAR_BYTES = 1 << 18 };

/* y[rows, columns] (+)= a[rows, steps] block; between TILES_BEGIN and TILES_END */
INLINE void multiply_tiles(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                           const float *block, BlockTarget y, int64_t columns, float *spare,
                           Far far, Ahead then) {
    int copied = columns > 2 * PANEL && rows_collide(steps, lda);
    int64_t panels = (columns + PANEL - 1) / PANEL, lines = (steps + TILE_STEPS - 1) / TILE_STEPS;
    TilesSoon soon = { asked_in(then, (rows + ROWS_UNIT - 1) / ROWS_UNIT * panels * lines),
                       { nothing_ahead(), 0, 0 } };
    for (int64_t i = 0; i < rows; i += ROWS_UNIT) {
        int64_t next = i + ROWS_UNIT, left = rows - next,
                some = left < ROWS_UNIT ? left : ROWS_UNIT;
        if (far == FAR_LEFT && rows * lda * (int64_t)sizeof *a > FAR_BYTES)
            soon.left = asked_in((Ahead){ (const char *)(a + next * lda), 2 * lda, some, lines },
                                 panels * lines);
        tile_rows(left < 0 ? left + ROWS_UNIT : ROWS_UNIT, steps, a + i * lda, lda, block,
                  target_at(y, i, 0), columns, copied, spare, &soon);
    }
}

NOINLINE void multiply_ahead(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                             const float *block, BlockTarget y, int64_t columns, float *spare,
                             Far far, Ahead then) {
    TILES_BEGIN;
    multiply_tiles(rows, steps, a, lda, block, y, columns, spare, far, then);
    TILES_END;
}

#endif
