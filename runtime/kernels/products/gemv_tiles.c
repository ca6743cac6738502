/* SPDX-License-Identifier: MIT
** y = x w^T of bfloat16 numbers for few rows of x (decoding), in tiles (tiles.h).  See gemv.h.
**
** Rows of w are the left operand, 16 per tile, loaded without packing, and each weight is read
** from memory once for up to 64 rows of x.  Rows of x are transposed first, in groups of up to 16
** that are the columns of a tile.
**
** An element is the chain of pairs of steps that t_dot adds up, whichever rows of x or of w are
** processed together.  Chains have a long latency; if there is room, two tiles of w double their
** number.
*/
#include "gemv.h"

#if STRATA_TILES
#include "results.h"
#include "tiles.h"
#include "transpose.h"

_Static_assert(LANES == TILE && FEW_TILE_STEPS * TILE <= 2 * FEW_FLOATS, "one group has room");

/* Groups of rows of x, at most. */
enum { GROUPS = 4 };

/* Rows of x as they are laid out: for each 32 steps, for each group, 16 pairs of steps of so many
** rows, a power of two; zeros beyond the last step and row. */
typedef struct Laid {
    float *pairs;
    int64_t rows, groups, columns;
} Laid;

INLINE int64_t parts_of(int64_t k) { return (k + TILE_STEPS - 1) / TILE_STEPS; }

INLINE Laid laid(int64_t rows, float *pairs) {
    Laid x = { pairs, rows, (rows + TILE - 1) / TILE, 1 };
    while (x.columns < rows && x.columns < TILE)
        x.columns *= 2;
    return x;
}

/* 'columns' is a constant where inlined, so that the rows are registers. */
INLINE void lay_out_by(const int columns, const Few *f, Laid x) {
    float *to = x.pairs;
    for (int64_t at = 0; at < f->k; at += TILE_STEPS)
        for (int64_t first = 0; first < x.rows; first += TILE, to += TILE * columns) {
            V pairs[TILE];
            UNROLL for (int r = 0; r < columns; r++) {
                const uint16_t *row = rows_of_x(BF16, f, first + r < x.rows ? first + r : 0);
                V read = load_pairs(row + at, f->k - at);
                pairs[r] = first + r < x.rows ? read : v_zero();
            }
            shuffle(columns, __builtin_ctz((unsigned)columns), pairs);
            UNROLL for (int r = 0; r < columns; r++) v_store(to + r * TILE, pairs[r]);
        }
}

INLINE void lay_out(const Few *f, Laid x) {
    switch (x.columns) {
    case 1: lay_out_by(1, f, x); break;
    case 2: lay_out_by(2, f, x); break;
    case 4: lay_out_by(4, f, x); break;
    case 8: lay_out_by(8, f, x); break;
    default: lay_out_by(16, f, x); break;
    }
}

/* A group's sums with 16 rows of w, of which 'rows' are there. */
INLINE void put_by(const int columns, Result y, int64_t rows, int64_t from, int64_t to,
                   const float *sum) {
    V out[TILE];
    UNROLL for (int i = 0; i < columns; i++) out[i] = v_load(sum + i * TILE);
    shuffle(columns, LANES_LOG, out);
    UNROLL for (int i = 0; i < columns; i++) if (from + i < to)
        put_columns(y, from + i, 0, rows, out[i]);
}

INLINE void put_group(Result y, Laid x, int64_t group, int64_t rows, const float *sum) {
    int64_t from = group * TILE;
    switch (x.columns) {
    case 1: put_by(1, y, rows, from, x.rows, sum); break;
    case 2: put_by(2, y, rows, from, x.rows, sum); break;
    case 4: put_by(4, y, rows, from, x.rows, sum); break;
    case 8: put_by(8, y, rows, from, x.rows, sum); break;
    default: put_by(16, y, rows, from, x.rows, sum); break;
    }
}

/* Part of 16 rows of w, zeros around it. */
INLINE void copy_part(const uint16_t *w, int64_t ldw, int64_t rows, int64_t steps,
                      uint16_t (*copy)[TILE_STEPS]) {
    for (int64_t r = 0; r < TILE; r++)
        v_store((float *)copy[r], r < rows ? load_pairs(w + r * ldw, steps) : v_zero());
}

/* The sums of a group, one for each tile of w; tile 6 or 7 has the group's pairs. */
#define GROUP_(group, has)                                  \
    if (groups > (group)) {                                 \
        t_load_columns(has, pairs + (group) * part, bytes); \
        t_dot(group, 4, has);                               \
        if (two) t_dot(2 + (group) % 2, 5, has);            \
    }
#define STORE_(i) t_store_columns(i, sum[i], bytes)

/* 16 rows of w, of which 'rows' are there, or two times 16, by all of x; 'two' and 'groups' are
** constants where inlined: no more than two groups with two. */
INLINE void some_rows_of_w(const int two, const int groups, const Few *f, Laid x, int64_t rows) {
    float sum[GROUPS][TILE * TILE] __attribute__((aligned(64)));
    uint16_t copy[TILE][TILE_STEPS] __attribute__((aligned(64)));
    const float *pairs = x.pairs;
    int64_t bytes = x.columns * (int64_t)sizeof(float), part = TILE * x.columns;
    TILES_HERE;
    t_zero(0);
    if (groups > 1) t_zero(1);
    if (groups > 2 || two) t_zero(2);
    if (groups > 3 || (two && groups > 1)) t_zero(3);
    for (int64_t at = 0; at < f->k; at += TILE_STEPS, pairs += groups * part) {
        const uint16_t *w = (const uint16_t *)f->w + at;
        int64_t row = f->ldw * (int64_t)sizeof *w, steps = f->k - at;
        if (rows < TILE || steps < TILE_STEPS) {
            copy_part(w, f->ldw, rows, steps, copy);
            t_load(4, copy, sizeof *copy);
        } else t_load(4, w, row);
        if (two && steps < TILE_STEPS) {
            copy_part(w + TILE * f->ldw, f->ldw, TILE, steps, copy);
            t_load(5, copy, sizeof *copy);
        } else if (two) t_load(5, w + TILE * f->ldw, row);
        GROUP_(0, 6);
        GROUP_(1, 7);
        GROUP_(2, 6);
        GROUP_(3, 7);
    }
    STORE_(0);
    if (groups > 1) STORE_(1);
    if (groups > 2 || two) STORE_(2);
    if (groups > 3 || (two && groups > 1)) STORE_(3);
    for (int64_t g = 0; g < groups; g++) {
        put_group(f->y, x, g, rows, sum[g]);
        if (two) put_group(later(BF16, f->y, 0, TILE), x, g, rows, sum[2 + g]);
    }
}

INLINE void all_rows_of_w(const int groups, Few f, Laid x, int64_t rows) {
    for (; groups <= 2 && rows >= 2 * TILE; rows -= 2 * TILE) {
        some_rows_of_w(1, groups, &f, x, 2 * TILE);
        f.w = rows_of_w(BF16, &f, 2 * TILE);
        f.y = later(BF16, f.y, 0, 2 * TILE);
    }
    for (; rows > 0; rows -= TILE, f.y = later(BF16, f.y, 0, TILE)) {
        some_rows_of_w(0, groups, &f, x, rows < TILE ? rows : TILE);
        f.w = rows_of_w(BF16, &f, TILE);
    }
}

NOINLINE void some_rows_of_x(int64_t rows, int64_t columns, Few f, float *room) {
    Laid x = laid(rows, room);
    lay_out(&f, x);
    TILES_OF_COLUMNS(x.columns);
    switch (x.groups) {
    case 1: all_rows_of_w(1, f, x, columns); break;
    case 2: all_rows_of_w(2, f, x, columns); break;
    case 3: all_rows_of_w(3, f, x, columns); break;
    default: all_rows_of_w(4, f, x, columns); break;
    }
    TILES_END;
}

void k_few_tiles(int64_t n, int64_t columns, const Few *few, float *scratch) {
    int64_t most = few->k > 0 ? FEW_FLOATS / (TILE * TILE) / parts_of(few->k) : GROUPS;
    Few f = *few;
    most = (most < GROUPS ? most : GROUPS) * TILE;
    for (int64_t parts = (n + most - 1) / most, rows; parts > 0; parts--, n -= rows) {
        rows = (n + parts - 1) / parts;
        some_rows_of_x(rows, columns, f, scratch);
        f.x = rows_of_x(BF16, &f, rows);
        f.y = later(BF16, f.y, rows, 0);
    }
}
#endif
