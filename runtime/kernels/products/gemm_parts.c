/* SPDX-License-Identifier: MIT
** Matrix products of float32 in tiles: y = x w^T, dx = dy w and dw += dy^T x on processors with
** tiles (parts.h says what is multiplied; other processors use gemm.c).
**
** All three are C[rows, columns] (+)= A B.  Parts of 32 rows of A, STEPS_PART steps of each, stay
** in the first-level cache, and panels of 32 columns of B stream past them from the second-level
** cache.  Sums of STEPS_PART steps begin at zero and are added to C in order, so that they are
** rounded at their own size.  The bits of an element depend only on its row of A, its column of B
** and the number of steps.
*/
#include "kernels.h"

#if STRATA_TILES
#include "parts_sums.h"

/* Columns of B that go past rows of A at most; of dw at once. */
enum { COLUMNS = 4 * BLOCK, WEIGHT_COLUMNS = 2 * BLOCK };
/* Numbers of B that, as parts, leave room in a second-level cache of 2 MiB. */
enum { NEAR = 1 << 17 };
enum { RIGHT_FLOATS = WEIGHT_COLUMNS / PANEL * LEFT_FLOATS };

int64_t k_gemm_scratch(void) { return RIGHT_FLOATS * (int64_t)sizeof(float); }

/* == A right operand that is packed ======================================= */

/* Blocks of BLOCK columns, in each parts of STEPS_PART steps, in each its panels. */
typedef struct Right {
    const float *at;
    int64_t columns, steps;
} Right;

/* From its beginning to the panels of block 'block' for the steps from s on, in floats. */
INLINE int64_t right_part(Right b, int64_t block, int64_t s) {
    int64_t panels = units_of(min64(b.columns - block * BLOCK, BLOCK));
    return (block * (BLOCK / PANEL) * units_of(b.steps) + panels * (s / UNIT)) * UNIT_FLOATS;
}

/* What is multiplied, n rows, and with what. */
typedef struct PartsProduct {
    int64_t n;
    StepRows x;
    Right b;
    Results y;
    LeftParts *left;
    TilesSoon soon;
} PartsProduct;

/* Columns of the right operand that rows go past. */
typedef struct PartsSpan {
    int64_t from, count;
} PartsSpan;

INLINE int64_t part_steps(const PartsProduct *p, int64_t s) {
    return min64(p->b.steps - s, STEPS_PART);
}

INLINE int64_t part_units(const PartsProduct *p, int64_t s, PartsSpan c) {
    return units_of(part_steps(p, s)) * units_of(c.count);
}

/* Some of x's rows from row i and step s on, in the units that come now. */
INLINE Asking left_soon(const PartsProduct *p, int64_t i, int64_t s, int64_t units) {
    return rows_soon(p->x, i, min64(p->n - i, UNIT), s, part_steps(p, s), units);
}

/* y (+)= x b, of 32 rows from i on, or the last, and the steps from s on. */
INLINE void multiply_unit(PartsProduct *p, int64_t i, int64_t s, PartsSpan c) {
    int64_t rows = min64(p->n - i, UNIT), steps = part_steps(p, s);
    put_units(rows, steps, p->x, i, s, STEPS_ALONG, 0, p->left->parts);
    for (int64_t j = c.from; j < c.from + c.count; j += BLOCK) {
        Results y = results_at(p->y, i, j);
        y.add |= s > 0;
        sweep(rows, min64(c.from + c.count - j, BLOCK), units_of(steps), p->left,
              p->b.at + right_part(p->b, j / BLOCK, s), y, &p->soon);
    }
}

/* All rows with some steps, then the next steps: b's part stays in the second-level cache. */
static void multiply_by_steps(PartsProduct *p, PartsSpan c) {
    for (int64_t s = 0; s < p->b.steps || s == 0; s += STEPS_PART) {
        int64_t units = part_units(p, s, c), next = s + STEPS_PART;
        /* Of the next part the first block. */
        Ahead then = packed_ahead(p->b.at + right_part(p->b, c.from / BLOCK, next),
                                  next < p->b.steps ? min64(c.count, BLOCK) / PANEL
                                          * units_of(part_steps(p, next)) * UNIT_FLOATS
                                                    : 0);
        p->soon.then = asked_in(then, units_of(p->n) * units);
        for (int64_t i = 0; i < p->n; i += UNIT) {
            p->soon.left = left_soon(p, i + UNIT, s, units);
            multiply_unit(p, i, s, c);
        }
    }
}

/* All steps of some rows, then the next rows: where all of b stays there, results are near until
** they are done, and rows are read as they lie. */
static void multiply_by_rows(PartsProduct *p, PartsSpan c) {
    for (int64_t i = 0; i < p->n; i += UNIT)
        for (int64_t s = 0; s < p->b.steps; s += STEPS_PART) {
            int64_t units = part_units(p, s, c), next = s + STEPS_PART;
            p->soon.left = next < p->b.steps ? left_soon(p, i, next, units)
                                             : left_soon(p, i + UNIT, 0, units);
            multiply_unit(p, i, s, c);
        }
}

static void multiply(int64_t n, StepRows x, Right b, Results y) {
    LeftParts left;
    Asking nothing = asked_in(nothing_ahead(), 0);
    PartsProduct p = { n, x, b, y, &left, { nothing, nothing } };
    open_left(&left);
    TILES_BEGIN;
    for (int64_t j = 0; j < b.columns; j += COLUMNS) {
        PartsSpan c = { j, min64(b.columns - j, COLUMNS) };
        if (b.steps > STEPS_PART && c.count * b.steps <= NEAR) multiply_by_rows(&p, c);
        else multiply_by_steps(&p, c);
    }
    add_rest(&left.late);
    TILES_END;
}

/* Panels for so many columns and steps from (j, s) on. */
INLINE void put_right(int64_t columns, int64_t steps, const float *w, int64_t ldw, int back,
                      int64_t j, int64_t s, float *out) {
    for (int64_t at = j; at < j + columns; at += PANEL, out += units_of(steps) * UNIT_FLOATS) {
        int64_t here = min64(j + columns - at, PANEL);
        if (back) put_units(here, steps, steps_at(w, ldw), at, s, STEPS_DOWN, 0, out);
        else put_units(here, steps, steps_at(w, ldw), at, s, STEPS_ALONG, 1, out);
    }
}

void k_pack(int64_t columns, int64_t steps, const float *w, int64_t ldw, int back, int64_t block,
            float *packed) {
    Right b = { packed, columns, steps };
    int64_t j = block * BLOCK;
    for (int64_t s = 0; s < steps; s += STEPS_PART)
        put_right(min64(columns - j, BLOCK), min64(steps - s, STEPS_PART), w, ldw, back, j, s,
                  packed + right_part(b, block, s));
}

void k_multiply(int64_t n, int64_t columns, int64_t steps, const float *x, int64_t ldx,
                const float *packed, float *y, int64_t ldy, int add) {
    multiply(n, steps_at(x, ldx), (Right){ packed, columns, steps },
             (Results){ y, ldy, 0, 0, add });
}

void k_multiply_at(int64_t n, int64_t columns, int64_t steps, const float *const *x,
                   const float *packed, float *const *y, int add) {
    multiply(n, (StepRows){ 0, 0, x }, (Right){ packed, columns, steps },
             (Results){ 0, 0, y, 0, add });
}

/* == Packed as it is needed =============================================== */

/* y (+)= x w^T, or x w if 'back' */
static void linear(int64_t n, int64_t columns, int64_t steps, StepRows x, const float *w,
                   int64_t ldw, int back, Results y, float *scratch) {
    LeftParts left;
    open_left(&left);
    TILES_BEGIN;
    for (int64_t j = 0; j < columns; j += BLOCK)
        for (int64_t s = 0; s < steps || s == 0; s += STEPS_PART) {
            int64_t here = min64(columns - j, BLOCK), some = min64(steps - s, STEPS_PART);
            Results to = y;
            to.add |= s > 0;
            put_right(here, some, w, ldw, back, j, s, scratch);
            for (int64_t i = 0; i < n; i += UNIT) {
                int64_t rows = min64(n - i, UNIT);
                TilesSoon soon = { asked_in(nothing_ahead(), 0),
                                   rows_soon(x, i + UNIT, min64(n - i - UNIT, UNIT), s, some,
                                             units_of(here) * units_of(some)) };
                put_units(rows, some, x, i, s, STEPS_ALONG, 0, left.parts);
                sweep(rows, here, units_of(some), &left, scratch, results_at(to, i, j), &soon);
            }
        }
    add_rest(&left.late);
    TILES_END;
}

void k_linear(int64_t n, int64_t m, int64_t k, const float *x, int64_t ldx, const float *w,
              int64_t ldw, float *y, int64_t ldy, int add, float *scratch) {
    linear(n, m, k, steps_at(x, ldx), w, ldw, 0, (Results){ y, ldy, 0, 0, add }, scratch);
}

void k_linear_back(int64_t n, int64_t m, int64_t k, const float *dy, int64_t lddy, const float *w,
                   int64_t ldw, float *dx, int64_t lddx, int add, float *scratch) {
    linear(n, k, m, steps_at(dy, lddy), w, ldw, 1, (Results){ dx, lddx, 0, 0, add }, scratch);
}

/* == Weight gradients ===================================================== */

/* dw[rows, 'columns' from j on] (+)= dy^T x, of the tokens from s on; dy's columns are A's rows. */
static void weight_part(int64_t n, int64_t rows, int64_t j, int64_t columns, int64_t s, StepRows dy,
                        StepRows x, Results dw, LeftParts *left, float *scratch) {
    int64_t steps = min64(n - s, STEPS_PART), units = units_of(steps),
            sweep_units = units * units_of(columns), next = s + steps;
    TilesSoon soon = { rows_soon(x, next, min64(n - next, STEPS_PART), j, columns,
                                 units_of(rows) * sweep_units),
                       { nothing_ahead(), 0, 0 } };
    dw.add |= s > 0;
    for (int64_t p = 0; p < columns; p += PANEL)
        put_units(min64(columns - p, PANEL), steps, x, j + p, s, STEPS_DOWN, 0,
                  scratch + p / PANEL * units * UNIT_FLOATS);
    for (int64_t i = 0; i < rows; i += UNIT) {
        int64_t here = min64(rows - i, UNIT), left_rows = min64(rows - i - UNIT, UNIT);
        put_units(here, steps, dy, i, s, STEPS_DOWN, 1, left->parts);
        soon.left = left_rows > 0
            ? rows_soon(dy, s, steps, i + UNIT, left_rows, sweep_units)
            : rows_soon(dy, next, min64(n - next, STEPS_PART), 0, min64(rows, UNIT), sweep_units);
        sweep(here, columns, units, left, scratch, results_at(dw, i, j), &soon);
    }
}

static void weight(int64_t n, int64_t rows, int64_t columns, StepRows dy, StepRows x, Results dw,
                   float *scratch) {
    LeftParts left;
    open_left(&left);
    TILES_BEGIN;
    for (int64_t j = 0; j < columns; j += WEIGHT_COLUMNS)
        for (int64_t s = 0; s < n || s == 0; s += STEPS_PART)
            weight_part(n, rows, j, min64(columns - j, WEIGHT_COLUMNS), s, dy, x, dw, &left,
                        scratch);
    add_rest(&left.late);
    TILES_END;
}

void k_linear_weight(int64_t n, int64_t m0, int64_t m1, int64_t k0, int64_t k1, const float *dy,
                     int64_t lddy, const float *x, int64_t ldx, float *dw, int64_t lddw, int add,
                     float *scratch) {
    weight(n, m1 - m0, k1 - k0, steps_at(dy + m0, lddy), steps_at(x + k0, ldx),
           (Results){ dw + m0 * lddw + k0, lddw, 0, 0, add }, scratch);
}

void k_linear_weight_at(int64_t steps, int64_t rows, int64_t columns, const float *const *dy,
                        const float *const *x, float *dw, int64_t lddw, int add, float *scratch) {
    weight(steps, rows, columns, (StepRows){ 0, 0, dy }, (StepRows){ 0, 0, x },
           (Results){ dw, lddw, 0, 0, add }, scratch);
}
#endif
