/* SPDX-License-Identifier: MIT
** Sums of products of parts (parts.h): 32 rows of the left operand against panels of the right
** one.  Four tiles hold 32 x 32 sums, to which every 32 steps add the six products, the smallest
** first; two tiles of each operand are loaded for four products.  Meanwhile the next operands are
** prefetched, and finished sums are added to the result.
*/
#ifndef STRATA_PARTS_SUMS_H
#define STRATA_PARTS_SUMS_H

#include "asking.h"
#include "parts.h"

/* Steps whose sums begin at zero, as many as the first-level cache has room for of 32 rows. */
enum { STEPS_PART = 4 * UNIT, LEFT_FLOATS = STEPS_PART / UNIT * UNIT_FLOATS };

/* Where results go, from a column on: rows 'ld' apart, or where 'row' says. */
typedef struct Results {
    float *at;
    int64_t ld;
    float *const *row;
    int64_t column;
    int add;
} Results;

INLINE float *result_row(Results y, int64_t r) {
    return (y.row ? y.row[r] : y.at + r * y.ld) + y.column;
}

INLINE Results results_at(Results y, int64_t row, int64_t column) {
    if (y.row) y.row += row;
    else y.at += row * y.ld;
    y.column += column;
    return y;
}

/* Sums of 32 x 32 that are being added to results, while the next ones are multiplied: rows from
** 'row' on are left. */
typedef struct LateSums {
    const float *sum;
    float *to;
    int64_t ld, row;
} LateSums;

/* What a worker has of A, and sums: two blocks in turns, and those that are no whole unit. */
typedef struct LeftParts {
    _Alignas(64) float parts[LEFT_FLOATS];
    _Alignas(64) float sums[2][UNIT * PANEL];
    _Alignas(64) float edge[UNIT * PANEL];
    LateSums late;
} LeftParts;

INLINE void open_left(LeftParts *left) { left->late = (LateSums){ 0, 0, 0, UNIT }; }

/* Rows added for each unit of steps of the sums that come next. */
enum { ADDED_ONCE = 8 };

INLINE void add_some(LateSums *x) {
    const float *sum = x->sum + x->row * PANEL;
    float *to = x->to + x->row * x->ld;
    UNROLL for (int i = 0; i < ADDED_ONCE; i++) for (int v = 0; v < PANEL; v += LANES)
        v_store(to + i * x->ld + v, v_load(to + i * x->ld + v) + v_load(sum + i * PANEL + v));
    x->row += ADDED_ONCE;
}

/* Before anybody reads results. */
INLINE void add_rest(LateSums *x) {
    while (x->row < UNIT)
        add_some(x);
}

INLINE void ask_tile(const float *at) {
    UNROLL for (int i = 0; i < TILE; i++) __builtin_prefetch(at + i * TILE);
}

#define LEFT_(part)                                                 \
    do {                                                            \
        t_load(4, left + 2 * (part) * TILE_FLOATS, TILE * 4);       \
        t_load(5, left + (2 * (part) + 1) * TILE_FLOATS, TILE * 4); \
    } while (0)
#define RIGHT_(part)                                                 \
    do {                                                             \
        t_load(6, right + 2 * (part) * TILE_FLOATS, TILE * 4);       \
        t_load(7, right + (2 * (part) + 1) * TILE_FLOATS, TILE * 4); \
    } while (0)
/* Adds the products of the parts at hand; a tile of what comes next is asked for meanwhile. */
#define SUMS_(next)                                           \
    do {                                                      \
        t_dot(0, 4, 6);                                       \
        t_dot(1, 4, 7);                                       \
        t_dot(2, 5, 6);                                       \
        t_dot(3, 5, 7);                                       \
        ask_tile(right + UNIT_FLOATS + (next) * TILE_FLOATS); \
    } while (0)

/* A quarter of the results that come next: a cache line of each of 16 rows. */
INLINE void ask_results(const float *c, int64_t ldc, int64_t quarter) {
    c += quarter / 2 * TILE * ldc + quarter % 2 * TILE;
    UNROLL for (int i = 0; i < TILE; i++) __builtin_prefetch(c + i * ldc, 1);
}

/* to[32, 32] = left right, of so many units of steps.  'next': results that are needed then. */
NOINLINE void unit_sums(int64_t units, const float *left, const float *right, float *to, int64_t ld,
                        const float *next, int64_t ldnext, LateSums *late, TilesSoon *soon) {
    int64_t row = ld * (int64_t)sizeof *to;
    TILES_HERE;
    t_zero(0);
    t_zero(1);
    t_zero(2);
    t_zero(3);
    for (int64_t u = 0; u < units; u++, left += UNIT_FLOATS, right += UNIT_FLOATS) {
        LEFT_(2);
        RIGHT_(0);
        SUMS_(0);
        LEFT_(1);
        SUMS_(1);
        RIGHT_(1);
        SUMS_(2);
        LEFT_(0);
        SUMS_(3);
        RIGHT_(2);
        SUMS_(4);
        RIGHT_(0);
        SUMS_(5);
        if (u < 4) ask_results(next, ldnext, u);
        if (late->row < UNIT) add_some(late);
        ask(&soon->left);
        ask(&soon->then);
    }
    t_store(0, to, row);
    t_store(1, to + TILE, row);
    t_store(2, to + TILE * ld, row);
    t_store(3, to + TILE * ld + TILE, row);
}

/* A whole unit of results: added late, or stored as they are. */
INLINE void whole_sums(int64_t units, LeftParts *left, const float *right, float *c, int64_t ldc,
                       int add, TilesSoon *soon) {
    LateSums *late = &left->late;
    float *sum = left->sums[late->sum == left->sums[0]];
    unit_sums(units, left->parts, right, add ? sum : c, add ? PANEL : ldc, add ? c : c + PANEL, ldc,
              late, soon);
    add_rest(late);
    if (add) *late = (LateSums){ sum, c, ldc, 0 };
}

/* Fewer rows or columns, or rows anywhere. */
NOINLINE void edge_sums(int64_t rows, int64_t columns, int64_t units, LeftParts *left,
                        const float *right, Results y, TilesSoon *soon) {
    const float *sum = left->edge;
    unit_sums(units, left->parts, right, left->edge, PANEL, left->edge, PANEL, &left->late, soon);
    for (int64_t r = 0; r < rows; r++, sum += PANEL) {
        float *to = result_row(y, r);
        for (int64_t j = 0; j < columns; j++)
            to[j] = y.add ? to[j] + sum[j] : sum[j];
    }
}

/* y[rows, columns] (+)= left right: 32 rows or fewer against panels that lie one after another. */
INLINE void sweep(int64_t rows, int64_t columns, int64_t units, LeftParts *left, const float *right,
                  Results y, TilesSoon *soon) {
    for (int64_t j = 0; j < columns; j += PANEL, right += units * UNIT_FLOATS, y.column += PANEL) {
        if (rows == UNIT && columns - j >= PANEL && !y.row)
            whole_sums(units, left, right, result_row(y, 0), y.ld, y.add, soon);
        else edge_sums(rows, min64(columns - j, PANEL), units, left, right, y, soon);
    }
}

/* Rows [first, first + count) of x, so many numbers from 'at' on, in so many units of a product; of
** rows that lie anywhere nothing. */
INLINE Asking rows_soon(StepRows x, int64_t first, int64_t count, int64_t at, int64_t numbers,
                        int64_t units) {
    if (count <= 0 || numbers <= 0 || x.row) return asked_in(nothing_ahead(), units);
    return asked_in((Ahead){ (const char *)(step_row(x, first) + at), x.ld * (int64_t)sizeof(float),
                             count, (numbers + 15) / 16 },
                    units);
}

#endif
