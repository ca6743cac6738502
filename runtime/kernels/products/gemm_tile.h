/* SPDX-License-Identifier: MIT
** The micro-kernel of float32 products: MR rows of the left operand against one
** packed block of the right one (pack.h), and the loops around it.
*/
#ifndef STRATA_GEMM_TILE_H
#define STRATA_GEMM_TILE_H

#include "pack.h"

/* MR * PANEL_VECTORS accumulators, PANEL_VECTORS columns of B and one value of A
** fit the registers. */
enum { MR = LANES == 16 ? 12 : LANES == 8 ? 6 : 4 };

/* Tiles ask for what is needed next, a cache line for so many steps: as they go, or, of 16 lanes,
** before each stretch of steps.  What loads ahead of its steps would push sums out of their
** registers there. */
enum { ASKS = LANES < 16, STEPS_A_LINE = 4, STRETCH = 32 };

/* What tiles ask for of 'ahead': after 'wait' tiles, one line of 'each' rows, from 'row' on. */
typedef struct Asked {
    Ahead ahead;
    int64_t row, wait, each;
} Asked;

/* The rows of the left operand that come next, and the rest. */
typedef struct Soon {
    Asked left, then;
} Soon;

/* A: rows come MR at a time, 'next' floats apart; within them element (r, step s)
** is at[r * row + s * step]. Tiles ask for what comes 'soon', if there is any. */
typedef struct Left {
    const float *at;
    int64_t row, step, next;
    Soon *soon;
} Left;

INLINE int64_t tiles_of(int64_t rows, int64_t columns) {
    return (rows + MR - 1) / MR * ((columns + PANEL - 1) / PANEL);
}

/* Asks for all of it, or for what there is time for, in the last of so many tiles of so many steps:
** in the cache for longer it would take the place of what they work with. */
INLINE Asked asked_late(Ahead x, int64_t tiles, int64_t steps) {
    int64_t each = steps / STEPS_A_LINE;
    if (each < 1 || x.rows < 1) x.lines = 0;
    return (Asked){ x, 0, x.lines > 0 ? tiles - (x.rows + each - 1) / each * x.lines : 0, each };
}

INLINE int is_due(Asked *x) { return x->ahead.lines > 0 && x->wait-- <= 0; }

/* What one tile asks for. */
typedef struct AskedPart {
    const char *at;
    int64_t stride;
} AskedPart;

INLINE AskedPart part_due(Asked *x) {
    Ahead *a = &x->ahead;
    AskedPart part = { a->at + x->row * a->stride, a->stride };
    x->row += x->each;
    if (x->row >= a->rows) x->row = 0, a->at += 64, a->lines--;
    return part;
}

/* Where nothing is due, what is in the cache already. */
INLINE AskedPart part_soon(Soon *soon, const float *panel) {
    if (soon && is_due(&soon->left)) return part_due(&soon->left);
    if (soon && is_due(&soon->then)) return part_due(&soon->then);
    return (AskedPart){ (const char *)panel, 0 };
}

/* Rows of A and of C that lie anywhere. */
typedef struct Scattered {
    const float *const *a;
    float *const *c;
} Scattered;

/* c[rows, columns] (+)= sum, columns < PANEL: the right edge. */
NOINLINE void store_edge(int64_t rows, int64_t columns, const float *sum, float *c, int64_t ldc,
                         int add) {
    for (int64_t r = 0; r < rows; r++, sum += PANEL, c += ldc)
        for (int64_t j = 0; j < columns; j += LANES) {
            int64_t left = columns - j;
            V x = v_load(sum + j);
            if (left >= LANES) v_store(c + j, add ? v_load(c + j) + x : x);
            else v_store_part(c + j, add ? v_load_part(c + j, left) + x : x, left);
        }
}

/* Rows that are needed soon: a line for each 16 of so many floats, to be read or written. */
INLINE void ask_rows(int rows, int64_t floats, const float *at, int64_t ld, int written) {
    UNROLL for (int r = 0; r < rows; r++) for (int64_t j = 0; j < floats; j += 16) {
        if (written) __builtin_prefetch(at + r * ld + j, 1);
        else __builtin_prefetch(at + r * ld + j);
    }
}

INLINE void start_tile(int rows, V (*sum)[PANEL_VECTORS], const float *c, int64_t ldc) {
    UNROLL for (int r = 0; r < rows; r++) for (int v = 0; v < PANEL_VECTORS; v++)
        sum[r][v] = v_zero();
    ask_rows(rows, PANEL, c, ldc, 1); /* arrive while the steps run */
}

/* C[rows, columns] (+)= sum */
INLINE void store_tile(int rows, V (*sum)[PANEL_VECTORS], float *c, int64_t ldc, int64_t columns,
                       int add) {
    if (columns < PANEL) {
        float edge[MR * PANEL];
        UNROLL for (int r = 0; r < rows; r++) for (int v = 0; v < PANEL_VECTORS; v++)
            v_store(edge + r * PANEL + v * LANES, sum[r][v]);
        store_edge(rows, columns, edge, c, ldc, add);
    } else if (add) {
        UNROLL for (int r = 0; r < rows; r++) for (int v = 0; v < PANEL_VECTORS; v++)
            v_store(c + r * ldc + v * LANES, v_load(c + r * ldc + v * LANES) + sum[r][v]);
    } else {
        UNROLL for (int r = 0; r < rows; r++) for (int v = 0; v < PANEL_VECTORS; v++)
            v_store(c + r * ldc + v * LANES, sum[r][v]);
    }
}

/* The lines for so many steps. */
INLINE void ask_steps(AskedPart *soon, int64_t steps) {
    for (int64_t s = 0; s < steps; s += STEPS_A_LINE, soon->at += soon->stride)
        __builtin_prefetch(soon->at, 0, 2);
}

/* sum[rows] += A[rows, steps] panel; both are then at the steps behind these. */
INLINE void tile_steps(int rows, int64_t steps, Left *a, const float **panel,
                       V (*sum)[PANEL_VECTORS], AskedPart *soon) {
    /* Unrolled this late, the loop is not taken for vectors of steps, which left no registers. */
#pragma clang loop unroll_count(4)
    for (int64_t s = 0; s < steps; s++, a->at += a->step, *panel += PANEL) {
        if (ASKS && s % STEPS_A_LINE == 0) ask_steps(soon, STEPS_A_LINE);
        V b[PANEL_VECTORS];
        for (int v = 0; v < PANEL_VECTORS; v++)
            b[v] = v_load(*panel + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            V value = v_splat(a->at[r * a->row]);
            for (int v = 0; v < PANEL_VECTORS; v++)
                sum[r][v] = v_fma(value, b[v], sum[r][v]);
        }
    }
}

/* C[rows, columns] (+)= A[rows, steps] panel; 'rows' is a constant where inlined,
** so that the sums are registers. */
INLINE void tile(int rows, int64_t steps, Left a, const float *panel, float *c, int64_t ldc,
                 int64_t columns, int add) {
    V sum[MR][PANEL_VECTORS];
    AskedPart soon = part_soon(a.soon, panel);
    start_tile(rows, sum, c, ldc);
    if (ASKS) tile_steps(rows, steps, &a, &panel, sum, &soon);
    else
        for (int64_t s = 0; s < steps; s += STRETCH) {
            int64_t some = steps - s < STRETCH ? steps - s : STRETCH;
            ask_steps(&soon, some);
            tile_steps(rows, some, &a, &panel, sum, &soon);
        }
    store_tile(rows, sum, c, ldc, columns, add);
}

/* The same of columns [j, j + columns) of scattered rows, a chain of the same operations. */
INLINE void tile_at(int rows, int64_t steps, Scattered x, const float *panel, int64_t j,
                    int64_t columns, int add) {
    V sum[MR][PANEL_VECTORS];
    const float *a[MR];
    UNROLL for (int r = 0; r < rows; r++) {
        a[r] = x.a[r];
        start_tile(1, sum + r, x.c[r] + j, 0);
    }
#pragma clang loop unroll_count(4)
    for (int64_t s = 0; s < steps; s++, panel += PANEL) {
        V b[PANEL_VECTORS];
        for (int v = 0; v < PANEL_VECTORS; v++)
            b[v] = v_load(panel + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            V value = v_splat(a[r][s]);
            for (int v = 0; v < PANEL_VECTORS; v++)
                sum[r][v] = v_fma(value, b[v], sum[r][v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++) store_tile(1, sum + r, x.c[r] + j, 0, columns, add);
}

/* Where a block's product goes: c, added to it or not; 'bf16' if that is the last part of a
** result that becomes bfloat16: c has what its other parts added up to then. */
typedef struct BlockTarget {
    float *c;
    int64_t ldc;
    int add;
    uint16_t *bf16;
    int64_t ldbf16;
} BlockTarget;

/* bfloat16s of sum[rows][columns] */
INLINE void narrow_rows(int64_t rows, int64_t columns, const float *sum, int64_t ld, uint16_t *out,
                        int64_t ldout) {
    for (int64_t r = 0; r < rows; r++, sum += ld, out += ldout) {
        int64_t j = 0;
        for (; j + LANES <= columns; j += LANES)
            v_store_bf16(out + j, v_load(sum + j));
        for (; j < columns; j++)
            out[j] = v_narrow(v_splat(sum[j]))[0];
    }
}

/* MR or fewer rows of A against all panels of a block. */
INLINE void sweep(int rows, int64_t steps, Left a, const float *block, float *c, int64_t ldc,
                  int64_t columns, int add) {
    for (int64_t j = 0; j < columns; j += PANEL, block += panel_stride(steps)) {
        if (a.step == 1 && j < steps) /* some of each of the rows that come next */
            ask_rows(rows, PANEL, a.at + a.next + j, a.row, 0);
        tile(rows, steps, a, block, c + j, ldc, columns - j, add);
    }
}

/* All rows: MR at a time, the rest by the binary digits of their number. */
INLINE void multiply(int64_t rows, int64_t steps, Left a, const float *block, float *c, int64_t ldc,
                     int64_t columns, int add) {
    for (; rows >= MR; rows -= MR, a.at += a.next, c += MR * ldc)
        sweep(MR, steps, a, block, c, ldc, columns, add);
    UNROLL for (int part = 8; part > 0; part /= 2) if (part < MR && rows & part) {
        sweep(part, steps, a, block, c, ldc, columns, add);
        a.at += part * a.row;
        c += part * ldc;
    }
}

/* Scattered rows; those of A are known MR further than there are rows, to be asked for. */
INLINE void sweep_at(int rows, int64_t steps, Scattered x, const float *block, int64_t columns,
                     int add) {
    for (int64_t j = 0; j < columns; j += PANEL, block += panel_stride(steps)) {
        if (j < steps) UNROLL for (int r = 0; r < rows; r++) __builtin_prefetch(x.a[rows + r] + j);
        tile_at(rows, steps, x, block, j, columns - j, add);
    }
}

INLINE void multiply_at(int64_t rows, int64_t steps, Scattered x, const float *block,
                        int64_t columns, int add) {
    for (; rows >= MR; rows -= MR, x.a += MR, x.c += MR)
        sweep_at(MR, steps, x, block, columns, add);
    UNROLL for (int part = 8; part > 0; part /= 2) if (part < MR && rows & part) {
        sweep_at(part, steps, x, block, columns, add);
        x.a += part, x.c += part;
    }
}

#endif
