/*
** Blocks of bfloat16 products two steps at once: the right operand is packed in panels of
** PANEL columns, each float of which is a pair of steps, both bfloat16, of one column; the
** left operand's rows are read as they lie.  Either dot products of pairs (AVX512_BF16) or
** tiles of 16 x 16 floats (AMX), for which steps are filled up with zeros to whole tiles.
*/
#ifndef STRATA_PAIRS_H
#define STRATA_PAIRS_H

#include "gemm_tile.h"
#if defined(__AMX_BF16__) || defined(STRATA_TILES_IN_C)
#define STRATA_TILES
#include "tiles.h"
#endif
_Static_assert(LANES == 16, "pairs need vectors of 16 floats");

#ifdef STRATA_TILES
enum { STEPS_UNIT = 32, ROWS_UNIT = 32 };
#else
enum { STEPS_UNIT = 2, ROWS_UNIT = MR };
#endif
/* Rows of a transposed left operand packed at once, and their steps. */
enum { GROUP = 96, GROUP_STEPS = 32 };
enum { SPARE_ROOM = ROWS_UNIT * STEPS_MAX / 2, EDGE_ROOM = ROWS_UNIT * PANEL };
enum { LEFT_ROOM = GROUP * STEPS_MAX / 2 + SPARE_ROOM + EDGE_ROOM };
enum { PAIRS_AHEAD = 8 }; /* rows that packing asks for in advance */

INLINE int64_t round_steps(int64_t steps, int64_t unit) { return (steps + unit - 1) / unit * unit; }
INLINE int64_t panel_room(int64_t steps) { return round_steps(steps, STEPS_UNIT) / 2 * PANEL + 16; }

/* == Packing ============================================================== */

INLINE void zero_pairs(int64_t steps, float *out) {
    for (int64_t p = (steps + 1) / 2; p < round_steps(steps, STEPS_UNIT) / 2; p++)
        v_store(out + p * PANEL, v_zero());
}

/* LANES columns of one panel from as many rows of w. */
INLINE void pack_row_pairs(const float *w, int64_t ldw, int64_t first, int64_t last, int64_t steps,
                           float *out) {
    const float *row[LANES];
    V t[4];
    rows_of(w, ldw, first, last, row);
    int64_t s = 0;
    for (; s + 4 <= steps; s += 4) {
        transpose_four(row, s, t);
        v_store(out + s / 2 * PANEL, v_pairs(t[0], t[1]));
        v_store(out + (s / 2 + 1) * PANEL, v_pairs(t[2], t[3]));
    }
    for (; s < steps; s += 2)
        v_store(out + s / 2 * PANEL,
                v_pairs(gather_step(row, s), s + 1 < steps ? gather_step(row, s + 1) : v_zero()));
    zero_pairs(steps, out);
}

/* The block whose columns are the first 'columns' rows of w[.., steps]. */
NOINLINE void pack_weight_columns(int64_t columns, int64_t steps, const float *w, int64_t ldw,
                                  float *out) {
    for (int64_t j = 0; j < columns; j += PANEL, out += panel_room(steps))
        for (int v = 0; v < PANEL_VECTORS; v++)
            pack_row_pairs(w, ldw, j + v * LANES, columns - 1, steps, out + v * LANES);
}

/* 'left' numbers or a vector of them; none: zeros. */
INLINE V load_upto(const float *p, int64_t left) {
    return left >= LANES ? v_load(p) : left > 0 ? v_load_part(p, left) : v_zero();
}

INLINE V load_bf16_upto(const uint16_t *p, int64_t left) {
    return left >= LANES ? v_load_bf16(p) : left > 0 ? v_load_bf16_part(p, left) : v_zero();
}

/* Steps [from, to) of the block whose columns are the first 'columns' columns of a matrix; w: row
** 'from'. 'from' is even, and so is 'to' or it is 'steps'. */
NOINLINE void pack_some_rows(int64_t columns, int64_t steps, int64_t from, int64_t to,
                             const float *w, int64_t ldw, float *out) {
    for (int64_t j = 0; j < columns; j += PANEL, out += panel_room(steps))
        for (int v = 0; v < PANEL_VECTORS; v++) {
            int64_t at = j + v * LANES;
            const float *row = w + at;
            for (int64_t s = from; s < to; s += 2, row += 2 * ldw) {
                V odd = s + 1 < to ? load_upto(row + ldw, columns - at) : v_zero();
                v_store(out + s / 2 * PANEL + v * LANES,
                        v_pairs(load_upto(row, columns - at), odd));
            }
            if (to == steps) zero_pairs(steps, out + v * LANES);
        }
}

/* All of them. */
INLINE void pack_weight_rows(int64_t columns, int64_t steps, const float *w, int64_t ldw,
                             float *out) {
    pack_some_rows(columns, steps, 0, steps, w, ldw, out);
}

/* Pairs of bfloat16s as they are in two rows. */
INLINE V pair_bf16(V even, V odd) { return (V)((VU)even >> 16 | (VU)odd); }

/* The block whose columns are the first 'columns' of x[steps, ..]. */
NOINLINE void pack_tokens(int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                          float *out) {
    for (int64_t s = 0; s < steps; s += 2)
        for (int64_t j = 0; j < columns; j += LANES) {
            const uint16_t *even = x + s * ldx + j;
            V odd = s + 1 < steps ? load_bf16_upto(even + ldx, columns - j) : v_zero();
            __builtin_prefetch(even + PAIRS_AHEAD * ldx);
            v_store(out + j / PANEL * panel_room(steps) + s / 2 * PANEL + j % PANEL,
                    pair_bf16(load_bf16_upto(even, columns - j), odd));
        }
    for (int64_t j = 0; j < columns; j += LANES)
        zero_pairs(steps, out + j / PANEL * panel_room(steps) + j % PANEL);
}

/* The lanes of a and b whose place has bit 'd' trade places. */
#define TRADE_(a, b, d)                                                                        \
    do {                                                                                       \
        V low_ = __builtin_shufflevector(a, b, LOW_(0, d), LOW_(1, d), LOW_(2, d), LOW_(3, d), \
                                         LOW_(4, d), LOW_(5, d), LOW_(6, d), LOW_(7, d),       \
                                         LOW_(8, d), LOW_(9, d), LOW_(10, d), LOW_(11, d),     \
                                         LOW_(12, d), LOW_(13, d), LOW_(14, d), LOW_(15, d));  \
        b = __builtin_shufflevector(a, b, HIGH_(0, d), HIGH_(1, d), HIGH_(2, d), HIGH_(3, d),  \
                                    HIGH_(4, d), HIGH_(5, d), HIGH_(6, d), HIGH_(7, d),        \
                                    HIGH_(8, d), HIGH_(9, d), HIGH_(10, d), HIGH_(11, d),      \
                                    HIGH_(12, d), HIGH_(13, d), HIGH_(14, d), HIGH_(15, d));   \
        a = low_;                                                                              \
    } while (0)
#define LOW_(l, d) ((l) & (d) ? 16 + (l) - (d) : (l))
#define HIGH_(l, d) ((l) & (d) ? 16 + (l) : (l) + (d))
#define ROUND_(t, d) \
    UNROLL for (int i_ = 0; i_ < LANES; i_++) if (!(i_ & (d))) TRADE_(t[i_], t[i_ + (d)], d)

INLINE void transpose_all(V *t) {
    ROUND_(t, 8);
    ROUND_(t, 4);
    ROUND_(t, 2);
    ROUND_(t, 1);
}

/* The transpose of dy[steps, rows]: a row of steps, filled up with zeros to GROUP_STEPS, for each
** of its columns. */
INLINE void transpose_left(int64_t rows, int64_t steps, const uint16_t *dy, int64_t lddy,
                           float *out) {
    int64_t ld = round_steps(steps, GROUP_STEPS) / 2;
    for (int64_t s = 0; s < steps; s += GROUP_STEPS)
        for (int64_t r = 0; r < rows; r += LANES) {
            V t[LANES];
            UNROLL for (int p = 0; p < LANES; p++) {
                int64_t at = s + 2 * p;
                const uint16_t *even = dy + at * lddy + r;
                t[p] = pair_bf16(at < steps ? load_bf16_upto(even, rows - r) : v_zero(),
                                 at + 1 < steps ? load_bf16_upto(even + lddy, rows - r) : v_zero());
            }
            transpose_all(t);
            for (int p = 0; p < LANES && r + p < rows; p++)
                v_store(out + (r + p) * ld + s / 2, t[p]);
        }
}

/* == Multiplying ========================================================== */

#ifdef STRATA_TILES

/* c[32, 32] (+)= a[32, steps] panel: four tiles of c, two of each operand. */
INLINE void four_tiles(int64_t steps, const uint16_t *a, int64_t lda, const float *panel, float *c,
                       int64_t ldc, int add) {
    int64_t row = lda * (int64_t)sizeof *a, out = ldc * (int64_t)sizeof *c;
    float *below = c + TILE * ldc;
    TILES_HERE;
    if (add) {
        t_load(0, c, out);
        t_load(1, c + TILE, out);
        t_load(2, below, out);
        t_load(3, below + TILE, out);
    } else {
        t_zero(0);
        t_zero(1);
        t_zero(2);
        t_zero(3);
    }
    for (int64_t s = 0; s < steps; s += TILE_STEPS, a += TILE_STEPS, panel += TILE * PANEL) {
        t_load(4, a, row);
        t_load(6, panel, PANEL * 4);
        t_load(5, a + TILE * lda, row);
        t_load(7, panel + TILE, PANEL * 4);
        t_dot(0, 4, 6);
        t_dot(1, 4, 7);
        t_dot(2, 5, 6);
        t_dot(3, 5, 7);
    }
    t_store(0, c, out);
    t_store(1, c + TILE, out);
    t_store(2, below, out);
    t_store(3, below + TILE, out);
}

/* 'rows' of 'columns' numbers of bytes. */
INLINE void copy_rows(int64_t rows, int64_t bytes, const void *from, int64_t from_step, void *to,
                      int64_t to_step) {
    for (int64_t r = 0; r < rows; r++)
        __builtin_memcpy((char *)to + r * to_step, (const char *)from + r * from_step,
                         (size_t)bytes);
}

/* The same where c has fewer rows or columns: in 'edge', which starts as c so that no sum is
** rounded otherwise than in the middle. */
INLINE void edge_tiles(int64_t rows, int64_t columns, int64_t steps, const uint16_t *a, int64_t lda,
                       const float *panel, float *c, int64_t ldc, int add, float *edge) {
    int64_t bytes = columns * (int64_t)sizeof *c, out = ldc * (int64_t)sizeof *c;
    if (add) copy_rows(rows, bytes, c, out, edge, PANEL * 4);
    four_tiles(steps, a, lda, panel, edge, PANEL, add);
    copy_rows(rows, bytes, edge, PANEL * 4, c, out);
}

/* 32 rows or fewer against all panels; 'spare': room for rows filled up with zeros. */
INLINE void tile_rows(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                      const float *block, float *c, int64_t ldc, int64_t columns, int add,
                      float *spare, float *edge) {
    int64_t whole = round_steps(steps, STEPS_UNIT);
    if (rows < ROWS_UNIT || whole > steps) {
        __builtin_memset(spare, 0, (size_t)(ROWS_UNIT * whole) * sizeof *a);
        copy_rows(rows, steps * (int64_t)sizeof *a, a, lda * (int64_t)sizeof *a, spare,
                  whole * (int64_t)sizeof *a);
        a = (const uint16_t *)spare;
        lda = whole;
    }
    for (int64_t j = 0; j < columns; j += PANEL, block += panel_room(steps)) {
        int64_t here = columns - j < PANEL ? columns - j : PANEL;
        if (rows < ROWS_UNIT || here < PANEL)
            edge_tiles(rows, here, whole, a, lda, block, c + j, ldc, add, edge);
        else four_tiles(whole, a, lda, block, c + j, ldc, add);
    }
}

/* y[rows, columns] (+)= a[rows, steps] block */
NOINLINE void multiply_tokens(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                              const float *block, BlockTarget y, int64_t columns, float *left) {
    float *spare = left + GROUP * STEPS_MAX / 2, *edge = spare + SPARE_ROOM;
    TILES_BEGIN;
    for (int64_t i = 0; i < rows; i += ROWS_UNIT)
        tile_rows(rows - i < ROWS_UNIT ? rows - i : ROWS_UNIT, steps, a + i * lda, lda, block,
                  y.c + i * y.ldc, y.ldc, columns, y.add, spare, edge);
    TILES_END;
    if (y.bf16) narrow_rows(rows, columns, y.c, y.ldc, y.bf16, y.ldbf16);
}

#else

/* The last part of a tile, as bfloat16s. */
INLINE void narrow_tile(int rows, V (*sum)[PANEL_VECTORS], BlockTarget y, int64_t columns) {
    float edge[MR * PANEL];
    UNROLL for (int r = 0; r < rows; r++) for (int v = 0; v < PANEL_VECTORS; v++) {
        V x = y.add ? v_load(y.c + r * y.ldc + v * LANES) + sum[r][v] : sum[r][v];
        if (columns < PANEL) v_store(edge + r * PANEL + v * LANES, x);
        else v_store_bf16(y.bf16 + r * y.ldbf16 + v * LANES, x);
    }
    if (columns < PANEL) narrow_rows(rows, columns, edge, PANEL, y.bf16, y.ldbf16);
}

INLINE BlockTarget target_at(BlockTarget y, int64_t row, int64_t column) {
    y.c += row * y.ldc + column;
    if (y.bf16) y.bf16 += row * y.ldbf16 + column;
    return y;
}

/* y[rows, columns] (+)= a[rows, steps] panel; 'rows' is a constant where inlined. */
INLINE void pair_tile(int rows, int64_t steps, const uint16_t *a, int64_t lda, const float *panel,
                      BlockTarget y, int64_t columns) {
    V sum[MR][PANEL_VECTORS];
    start_tile(rows, sum, y.c, y.ldc);
    /* Of several steps at once the compiler loads so many pairs ahead that sums leave their
    ** registers. */
#pragma clang loop unroll(disable)
    for (int64_t s = 0; s + 2 <= steps; s += 2, panel += PANEL) {
        V right[PANEL_VECTORS];
        for (int v = 0; v < PANEL_VECTORS; v++)
            right[v] = v_load(panel + v * LANES);
        UNROLL for (int r = 0; r < rows; r++) {
            float two;
            __builtin_memcpy(&two, a + r * lda + s, sizeof two);
            for (int v = 0; v < PANEL_VECTORS; v++)
                sum[r][v] = v_dot(sum[r][v], v_splat(two), right[v]);
        }
    }
    if (steps % 2)
        UNROLL for (int r = 0; r < rows; r++) for (int v = 0; v < PANEL_VECTORS; v++) sum[r][v] =
            v_dot(sum[r][v], v_splat(__builtin_bit_cast(float, (uint32_t)a[r * lda + steps - 1])),
                  v_load(panel + v * LANES));
    if (y.bf16) narrow_tile(rows, sum, y, columns);
    else store_tile(rows, sum, y.c, y.ldc, columns, y.add);
}

INLINE void pair_sweep(int rows, int64_t steps, const uint16_t *a, int64_t lda, const float *block,
                       BlockTarget y, int64_t columns) {
    for (int64_t j = 0; j < columns; j += PANEL, block += panel_room(steps)) {
        if (2 * j < steps) /* some of each of the rows that come next */
            UNROLL for (int r = 0; r < rows; r++) __builtin_prefetch(a + (rows + r) * lda + 2 * j);
        pair_tile(rows, steps, a, lda, block, target_at(y, 0, j), columns - j);
    }
}

NOINLINE void multiply_tokens(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                              const float *block, BlockTarget y, int64_t columns, float *left) {
    (void)left;
    for (; rows >= MR; rows -= MR, a += MR * lda, y = target_at(y, MR, 0))
        pair_sweep(MR, steps, a, lda, block, y, columns);
    UNROLL for (int part = 8; part > 0; part /= 2) if (rows & part) {
        pair_sweep(part, steps, a, lda, block, y, columns);
        a += part * lda;
        y = target_at(y, part, 0);
    }
}

#endif

/* y[rows, columns] (+)= dy[steps, rows]^T block, rows <= GROUP */
NOINLINE void multiply_transposed(int64_t rows, int64_t steps, const uint16_t *dy, int64_t lddy,
                                  const float *block, BlockTarget y, int64_t columns, float *left) {
    transpose_left(rows, steps, dy, lddy, left);
    multiply_tokens(rows, steps, (const uint16_t *)left, round_steps(steps, GROUP_STEPS), block, y,
                    columns, left);
}

#endif
