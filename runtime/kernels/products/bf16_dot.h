/* SPDX-License-Identifier: MIT
** Blocks of bfloat16 products two steps at once: the right operand is packed in panels of
** PANEL columns, each float of which is a pair of steps, both bfloat16, of one column; the
** left operand's rows are read as they lie.  Either dot products of pairs or
** tiles of 16 x 16 floats, for which steps are filled up with zeros to whole tiles.
*/
#ifndef STRATA_PAIRS_H
#define STRATA_PAIRS_H

#include "gemm_tile.h"
#if STRATA_TILES
#include "tiles.h"
#endif
_Static_assert(LANES == 16, "pairs need vectors of 16 floats");

/* STEPS_PART: steps of a block, at most.  GROUP: rows of a transposed left operand packed at once,
** GROUP_MOST steps of each, a multiple of GROUP_STEPS. */
#if STRATA_TILES
enum { STEPS_UNIT = 32, ROWS_UNIT = 32, STEPS_PART = 512, SUM_ONCE = 256 };
enum { GROUP = 512, GROUP_STEPS = 32, GROUP_MOST = 1024 };
#else
enum { STEPS_UNIT = 2, ROWS_UNIT = MR, STEPS_PART = STEPS_MAX, SUM_ONCE = 2 * MR };
enum { GROUP = 96, GROUP_STEPS = 32, GROUP_MOST = STEPS_MAX };
#endif
/* What multiplying needs: room for rows filled up with zeros, and for two blocks of sums.  Then the
** transposed operand, with a cache line between its rows, so that those side by side do not meet
** in one cache set. */
enum {
    SPARE_APART = 32,
    SPARE_ROOM = ROWS_UNIT * (STEPS_PART + SPARE_APART) / 2,
    EDGE_ROOM = 2 * ROWS_UNIT * PANEL,
    MULTIPLY_ROOM = SPARE_ROOM + EDGE_ROOM,
    GROUP_APART = 32,
    GROUP_ROOM = GROUP * (GROUP_MOST + GROUP_APART) / 2
};
enum { LEFT_ROOM = MULTIPLY_ROOM + GROUP_ROOM };
enum { PAIRS_AHEAD = 8 }; /* rows that packing asks for in advance */

INLINE int64_t round_steps(int64_t steps, int64_t unit) { return (steps + unit - 1) / unit * unit; }
INLINE int64_t panel_room(int64_t steps) { return round_steps(steps, STEPS_UNIT) / 2 * PANEL + 16; }

/* == Packing ============================================================== */

INLINE void zero_pairs(int64_t steps, float *out) {
    for (int64_t p = (steps + 1) / 2; p < round_steps(steps, STEPS_UNIT) / 2; p++)
        v_store(out + p * PANEL, v_zero());
}

/* 'past' is a constant where inlined: past the caches, to where nobody reads soon; 'out' is then
** on a cache line. */
INLINE void put_pairs(float *out, V x, const int past) {
    if (past) __builtin_nontemporal_store(x, (V *)out);
    else v_store(out, x);
}

/* LANES columns of one panel from as many rows of w. */
INLINE void pack_row_pairs(const float *w, int64_t ldw, int64_t first, int64_t last, int64_t steps,
                           float *out, const int past) {
    const float *row[LANES];
    V t[4];
    rows_of(w, ldw, first, last, row);
    int64_t s = 0;
    for (; s + 4 <= steps; s += 4) {
        transpose_four(row, s, t);
        put_pairs(out + s / 2 * PANEL, v_pairs(t[0], t[1]), past);
        put_pairs(out + (s / 2 + 1) * PANEL, v_pairs(t[2], t[3]), past);
    }
    for (; s < steps; s += 2)
        v_store(out + s / 2 * PANEL,
                v_pairs(gather_step(row, s), s + 1 < steps ? gather_step(row, s + 1) : v_zero()));
    zero_pairs(steps, out);
}

/* The block whose columns are the first 'columns' rows of w[.., steps]. */
INLINE void weight_columns(int64_t columns, int64_t steps, const float *w, int64_t ldw, float *out,
                           const int past) {
    for (int64_t j = 0; j < columns; j += PANEL, out += panel_room(steps))
        for (int v = 0; v < PANEL_VECTORS; v++)
            pack_row_pairs(w, ldw, j + v * LANES, columns - 1, steps, out + v * LANES, past);
}

NOINLINE void pack_weight_columns(int64_t columns, int64_t steps, const float *w, int64_t ldw,
                                  float *out) {
    weight_columns(columns, steps, w, ldw, out, 0);
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
INLINE void pack_some_rows(int64_t columns, int64_t steps, int64_t from, int64_t to, const float *w,
                           int64_t ldw, float *out, const int past) {
    for (int64_t j = 0; j < columns; j += PANEL, out += panel_room(steps))
        for (int v = 0; v < PANEL_VECTORS; v++) {
            int64_t at = j + v * LANES;
            const float *row = w + at;
            for (int64_t s = from; s < to; s += 2, row += 2 * ldw) {
                V odd = s + 1 < to ? load_upto(row + ldw, columns - at) : v_zero();
                put_pairs(out + s / 2 * PANEL + v * LANES,
                          v_pairs(load_upto(row, columns - at), odd), past);
            }
            if (to == steps) zero_pairs(steps, out + v * LANES);
        }
}

/* All of them. */
NOINLINE void pack_weight_rows(int64_t columns, int64_t steps, const float *w, int64_t ldw,
                               float *out) {
    pack_some_rows(columns, steps, 0, steps, w, ldw, out, 0);
}

/* Pairs of bfloat16s as they are in two rows. */
INLINE V pair_bf16(V even, V odd) { return (V)((VU)even >> 16 | (VU)odd); }

/* LANES columns, or 'left' if they are fewer, of rows 'even' and, if it is there, 'odd'. */
INLINE V pair_rows(const uint16_t *even, const uint16_t *odd, int64_t left) {
    if (odd && left >= LANES) return pair_bf16(v_load_bf16(even), v_load_bf16(odd));
    return pair_bf16(load_bf16_upto(even, left), odd ? load_bf16_upto(odd, left) : v_zero());
}

/* The block whose columns are the first 'columns' of x[steps, ..]. */
NOINLINE void pack_tokens(int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                          float *out) {
    int64_t room = panel_room(steps);
    for (int64_t s = 0; s < steps; s += 2, x += 2 * ldx) {
        const uint16_t *odd = s + 1 < steps ? x + ldx : 0;
        float *to = out + s / 2 * PANEL;
        for (int64_t j = 0; j < columns; j += PANEL, to += room) {
            __builtin_prefetch(x + PAIRS_AHEAD * ldx + j);
            __builtin_prefetch(x + (PAIRS_AHEAD + 1) * ldx + j);
            for (int64_t v = 0; v < PANEL && j + v < columns; v += LANES)
                v_store(to + v, pair_rows(x + j + v, odd ? odd + j + v : 0, columns - j - v));
        }
    }
    for (int64_t j = 0; j < columns; j += LANES)
        zero_pairs(steps, out + j / PANEL * room + j % PANEL);
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

/* LANES columns of a panel from as many rows of bfloat16s, or 'rows' of them if those are fewer. */
INLINE void pack_pairs_rows(int64_t rows, int64_t steps, const uint16_t *w, int64_t ldw,
                            float *out) {
    for (int64_t s = 0; s < steps; s += 2 * LANES) {
        uint16_t part[LANES][2 * LANES];
        int64_t some = steps - s < 2 * LANES ? steps - s : 2 * LANES;
        V t[LANES];
        if (some < 2 * LANES) __builtin_memset(part, 0, sizeof part);
        UNROLL for (int i = 0; i < LANES; i++) {
            const uint16_t *row = w + (i < rows ? i : 0) * ldw + s;
            if (some < 2 * LANES) row = __builtin_memcpy(part[i], row, (size_t)some * sizeof *row);
            t[i] = v_load_pairs(row);
        }
        transpose_all(t);
        for (int i = 0; i < LANES && s + 2 * i < round_steps(steps, STEPS_UNIT); i++)
            v_store(out + (s / 2 + i) * PANEL, t[i]);
    }
}

/* 32 bfloat16s as they lie, in groups of eight. */
typedef uint16_t Words __attribute__((vector_size(64)));
typedef uint16_t Eight __attribute__((vector_size(16)));
typedef uint16_t EightMem __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint16_t WordsMem __attribute__((vector_size(64), aligned(2), may_alias));

/* Eight columns of rows 0, 8, 16 and 24, a group each. */
INLINE Words four_rows(const uint16_t *x, int64_t ld) {
    Eight a = *(const EightMem *)x, b = *(const EightMem *)(x + 8 * ld);
    Eight c = *(const EightMem *)(x + 16 * ld), d = *(const EightMem *)(x + 24 * ld);
    typedef uint16_t Sixteen __attribute__((vector_size(32)));
    Sixteen low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                          15);
    Sixteen high = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                           15);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
}

/* In each group the first halves of a and b, or the second ones, in turns of one,
** two or four bfloat16s ('f'). */
#define GROUPS_(f, b) f(b), f(b + 8), f(b + 16), f(b + 24)
#define ONES_(b) b, b + 32, b + 1, b + 33, b + 2, b + 34, b + 3, b + 35
#define TWOS_(b) b, b + 1, b + 32, b + 33, b + 2, b + 3, b + 34, b + 35
#define FOURS16_(b) b, b + 1, b + 2, b + 3, b + 32, b + 33, b + 34, b + 35
#define TURNS_(f, x, i, j)                                               \
    do {                                                                 \
        Words low_ = __builtin_shufflevector(x[i], x[j], GROUPS_(f, 0)); \
        x[j] = __builtin_shufflevector(x[i], x[j], GROUPS_(f, 4));       \
        x[i] = low_;                                                     \
    } while (0)

/* Columns of x[32, 8] as rows of 32, column k at x[column_at(k)]. */
INLINE void transpose_words(Words *x) {
    UNROLL for (int i = 0; i < 8; i += 2) TURNS_(ONES_, x, i, i + 1);
    UNROLL for (int i = 0; i < 8; i += 4) {
        TURNS_(TWOS_, x, i, i + 2);
        TURNS_(TWOS_, x, i + 1, i + 3);
    }
    UNROLL for (int i = 0; i < 4; i++) TURNS_(FOURS16_, x, i, i + 4);
}

/* Where transpose_words leaves column k. */
INLINE int column_at(int k) { return (k & 1) << 2 | (k & 2) | (k & 4) >> 2; }

/* Eight columns of 32 rows of dy as rows of 'out'. */
INLINE void transpose_eight(int64_t columns, const uint16_t *dy, int64_t lddy, uint16_t *out,
                            int64_t ld) {
    Words x[8];
    UNROLL for (int i = 0; i < 8; i++) x[i] = four_rows(dy + i * lddy, lddy);
    transpose_words(x);
    UNROLL for (int k = 0; k < 8; k++) if (k < columns)
        * (WordsMem *)(out + k * ld) = x[column_at(k)];
}

/* The transpose of dy[steps, rows]: a row of steps, 'ld' bfloat16s apart, filled up with zeros to
** GROUP_STEPS, for each of its columns. */
NOINLINE void transpose_left(int64_t rows, int64_t steps, const uint16_t *dy, int64_t lddy,
                             uint16_t *out, int64_t ld) {
    uint16_t part[GROUP_STEPS * 8];
    for (int64_t s = 0; s < steps; s += GROUP_STEPS)
        for (int64_t r = 0; r < rows; r += 8) {
            const uint16_t *from = dy + s * lddy + r;
            int64_t some = steps - s < GROUP_STEPS ? steps - s : GROUP_STEPS, apart = lddy,
                    columns = rows - r < 8 ? rows - r : 8;
            for (int i = 0; i < 8; i++) /* a quarter of the next rows' lines */
                __builtin_prefetch(dy + (s + GROUP_STEPS + r % 32 + i) * lddy + r / 32 * 32, 0, 2);
            if (some < GROUP_STEPS || columns < 8) {
                __builtin_memset(part, 0, sizeof part);
                for (int64_t i = 0; i < some; i++)
                    for (int64_t k = 0; k < columns; k++)
                        part[i * 8 + k] = from[i * lddy + k];
                from = part, apart = 8;
            }
            transpose_eight(columns, from, apart, out + r * ld + s, ld);
        }
}

/* == Multiplying ========================================================== */

#if STRATA_TILES
#include "bf16_tiles.h"
#include "bf16_tiles_few.h"
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
                              const float *block, BlockTarget y, int64_t columns, float *spare,
                              Ahead then) {
    (void)spare, (void)then;
    for (; rows >= MR; rows -= MR, a += MR * lda, y = target_at(y, MR, 0))
        pair_sweep(MR, steps, a, lda, block, y, columns);
    UNROLL for (int part = 8; part > 0; part /= 2) if (rows & part) {
        pair_sweep(part, steps, a, lda, block, y, columns);
        a += part * lda;
        y = target_at(y, part, 0);
    }
}

/* y[rows, columns] (+)= dy[steps, rows]^T block, rows <= GROUP, steps <= GROUP_MOST */
NOINLINE void multiply_transposed(int64_t rows, int64_t steps, const uint16_t *dy, int64_t lddy,
                                  const float *block, BlockTarget y, int64_t columns, float *left) {
    uint16_t *turned = (uint16_t *)(left + MULTIPLY_ROOM);
    int64_t ld = round_steps(steps, GROUP_STEPS);
    transpose_left(rows, steps, dy, lddy, turned, ld);
    multiply_tokens(rows, steps, turned, ld, block, y, columns, left, nothing_ahead());
}

#endif

#endif
