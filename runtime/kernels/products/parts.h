/* SPDX-License-Identifier: MIT
** float32 products in tiles of bfloat16 (arXiv:1904.06376, section 3).  A number is the sum of
** three bfloat16 numbers, 'parts' of 8 bits each.  A product is the sum of the six largest
** products of parts, the smallest first; the other three together are below 2^-24 of it.  Parts,
** products and sums below 2^-126 count as 0, so that numbers below 2^-103 lose digits; infinities,
** and numbers that round to infinity as bfloat16, give NaN.
**
** Both operands are cut into units of 32 rows or columns by 32 steps, which are two tiles for each
** part, the largest part first.  Pair p of a tile's 32 steps is steps p and p + 16, so that no
** number has to change its lane.
*/
#ifndef STRATA_PARTS_H
#define STRATA_PARTS_H

#include "pack.h"
#include "scratch.h"
#include "tiles.h"
#include "transpose.h"
_Static_assert(LANES == TILE && PANEL == 2 * TILE, "a vector is a row of a tile");

/* Rows and columns of a unit, its steps; floats of a tile, of a unit. */
enum {
    UNIT = 2 * TILE,
    PARTS = 3,
    TILE_FLOATS = TILE * TILE,
    UNIT_FLOATS = 2 * PARTS * TILE_FLOATS
};

_Static_assert(PARTS_UNIT == UNIT && PARTS_FLOATS == UNIT_FLOATS, "rooms are counted by them");

INLINE int64_t units_of(int64_t n) { return (n + UNIT - 1) / UNIT; }

/* The bfloat16 next to each number, larger where two are. */
INLINE V largest_part(V x) { return (V)(((VU)x + 0x8000) & 0xffff0000u); }

/* The parts of as many pairs of numbers as lanes, a tile's row each, 'apart' floats. */
INLINE void put_parts(V x, V y, float *out, int64_t apart) {
    UNROLL for (int p = 0; p < PARTS - 1; p++) {
        V x0 = largest_part(x), y0 = largest_part(y);
        v_store(out + p * apart, (V)((VU)x0 >> 16 | (VU)y0));
        x -= x0;
        y -= y0;
    }
    v_store(out + (PARTS - 1) * apart, (V)((VU)x >> 16 | ((VU)y & 0xffff0000u)));
}

INLINE StepRows steps_at(const float *at, int64_t ld) { return (StepRows){ at, ld, 0 }; }

/* Which way a unit's steps go in memory: along rows, or from row to row. */
typedef enum Steps { STEPS_ALONG, STEPS_DOWN } Steps;

/* Half a unit of an operand: from 16 rows of 32 numbers, or 32 of 16.  'turned': vectors become
** columns of its tiles. */
NOINLINE void put_tiles(StepRows x, int64_t row, int64_t column, Steps steps, int turned,
                        float *out) {
    enum { APART = 2 * TILE_FLOATS };
    UNROLL for (int i = 0; i < TILE; i++) {
        const float *at = step_row(x, row + i) + column;
        const float *half = steps == STEPS_ALONG ? at + TILE : step_row(x, row + TILE + i) + column;
        put_parts(v_load(at), v_load(half), out + i * TILE, APART);
    }
    for (int p = 0; turned && p < PARTS; p++) {
        V t[TILE];
        UNROLL for (int i = 0; i < TILE; i++) t[i] = v_load(out + p * APART + i * TILE);
        transpose(t);
        UNROLL for (int i = 0; i < TILE; i++) v_store(out + p * APART + i * TILE, t[i]);
    }
}

/* The same of fewer numbers, zeros for the rest. */
NOINLINE void put_edge(int64_t rows, int64_t columns, StepRows x, int64_t row, int64_t column,
                       Steps steps, int turned, float *out) {
    float whole[UNIT * TILE];
    int64_t ld = steps == STEPS_ALONG ? UNIT : TILE;
    __builtin_memset(whole, 0, sizeof whole);
    for (int64_t r = 0; r < rows && columns > 0; r++)
        __builtin_memcpy(whole + r * ld, step_row(x, row + r) + column,
                         (uint64_t)columns * sizeof *whole);
    put_tiles(steps_at(whole, ld), 0, 0, steps, turned, out);
}

/* Units of an operand: of 'count' rows or columns of its matrix from 'first' on, at most 32, and so
** many steps from s on. */
INLINE void put_units(int64_t count, int64_t steps, StepRows x, int64_t first, int64_t s, Steps way,
                      int turned, float *out) {
    for (int64_t end = s + steps; s < end; s += UNIT, out += UNIT_FLOATS)
        for (int64_t half = 0; half < UNIT; half += TILE) {
            int64_t here = min64(count - half, TILE), some = min64(end - s, UNIT);
            float *to = out + half / TILE * TILE_FLOATS;
            int along = way == STEPS_ALONG, whole = here == TILE && some == UNIT;
            int64_t row = along ? first + half : s, column = along ? s : first + half;
            if (whole) put_tiles(x, row, column, way, turned, to);
            else if (along) put_edge(here, some, x, row, column, way, turned, to);
            else put_edge(some, here, x, row, column, way, turned, to);
        }
}

#endif
