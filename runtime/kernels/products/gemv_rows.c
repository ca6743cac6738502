/* SPDX-License-Identifier: MIT
** y = x w^T for FEW_ROWS rows of x or more (decoding of several sequences), where vectors have 8 or
** 4 lanes and there are 16 of them.  See gemv.h for the order of sums.
**
** TILE_ROWS rows of x by TILE_WEIGHTS rows of w leave registers for the operands.  Rows of x are
** laid out first, vector by vector, as floats; STEPS numbers of a tile's stay in the first-level
** cache while a block of rows of w passes by.  A block stays in the second-level cache for all rows
** of x, and meanwhile the next one comes from memory, evenly.  Sums wait in the scratch where rows
** are longer than STEPS.
*/
#include "gemv.h"

enum {
    TILE_ROWS = 6,
    TILE_WEIGHTS = FEW_WEIGHTS,
    STEPS = 1024,
    COLUMNS = 64,
    BLOCK_BYTES = 1 << 16
};
enum { SUM_FLOATS = TILE_ROWS * COLUMNS * LANES };

int64_t k_few_scratch(void) { return (FEW_FLOATS + SUM_FLOATS) * (int64_t)sizeof(float); }

/* Floats that a vector of x or w is made of: those of even and of odd steps, of pairs. */
INLINE int gemv_rows_parts_of(OperandKind kind) { return kind == BF16 ? 2 : 1; }

INLINE V gemv_rows_part_of(V pairs, int part) {
    return (V)(part ? (VU)pairs & 0xffff0000u : (VU)pairs << 16);
}

/* 'left' numbers of a row of x at 'at' as floats, zeros after them: a vector at 'to', and that of
** odd steps 'apart' floats further on. */
INLINE void lay_vector(OperandKind kind, const void *row, int64_t at, int64_t left, float *to,
                       int64_t apart) {
    if (kind == FLOATS) v_store(to, load_floats((const float *)row + at, left));
    else if (kind == ROUNDED) v_store(to, load_bf16((const uint16_t *)row + at, left));
    else {
        V pairs = load_pairs((const uint16_t *)row + at, left);
        UNROLL for (int part = 0; part < 2; part++)
            v_store(to + part * apart, gemv_rows_part_of(pairs, part));
    }
}

/* A vector of a row of w. Pairs are loaded anew for each part (volatile says so): kept from one to
** the next, they would take registers from the sums. */
INLINE V load_w(OperandKind kind, const void *row, int64_t at, int part) {
    if (kind == BF16)
        return gemv_rows_part_of((V) * (const volatile VPairsMem *)((const uint16_t *)row + at),
                                 part);
    V w = v_load((const float *)row + at);
    return kind == ROUNDED ? v_bf16(w) : w;
}

/* Of the last numbers of a row; out of line, and before sums are in registers. */
NOINLINE V load_w_end(OperandKind kind, const void *row, int64_t at, int64_t left, int part) {
    if (kind == BF16) return gemv_rows_part_of(load_pairs((const uint16_t *)row + at, left), part);
    V w = load_floats((const float *)row + at, left);
    return kind == ROUNDED ? v_bf16(w) : w;
}

/* 'rows' rows of x: of each vector of them, of each part, a vector a row. */
INLINE void lay_out(int64_t rows, OperandKind kind, const Few *f, float *x) {
    int64_t numbers = numbers_of(kind), apart = rows * LANES;
    for (int64_t at = 0; at < f->k; at += numbers, x += gemv_rows_parts_of(kind) * apart)
        for (int64_t r = 0; r < rows; r++)
            lay_vector(kind, rows_of_x(kind, f, r), at, f->k - at, x + r * LANES, apart);
}

/* Which rows of w are asked for: those 'rows' further on, one in 'turns' of their cache lines. */
typedef struct FewAhead {
    int64_t rows, turn, turns;
} FewAhead;

/* Rows of x with rows of w over some steps. */
typedef struct FewTile {
    const Few *f;   /* from its rows of w on */
    const float *x; /* laid out, from the first of these steps on */
    float *sums;
    int64_t from, to;
    int first, last; /* of the steps */
    FewAhead ahead;
} FewTile;

INLINE void start_sums(int rows, const FewTile *t, V (*sum)[TILE_WEIGHTS]) {
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int i = 0; i < TILE_WEIGHTS; i++)
        sum[r][i] = t->first ? v_zero() : v_load(t->sums + (r * TILE_WEIGHTS + i) * LANES);
}

INLINE void end_sums(int rows, OperandKind kind, const FewTile *t, V (*sum)[TILE_WEIGHTS]) {
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int i = 0; i < TILE_WEIGHTS; i++) {
        if (t->last) put(kind, t->f->y, r, i, v_sum(sum[r][i]));
        else v_store(t->sums + (r * TILE_WEIGHTS + i) * LANES, sum[r][i]);
    }
}

/* A vector's products; 'end': those of the last numbers of rows of w, else NULL. */
INLINE const float *gemv_rows_step(int rows, OperandKind kind, const Few *f, int64_t at,
                                   const V (*end)[TILE_WEIGHTS], const float *x,
                                   V (*sum)[TILE_WEIGHTS]) {
    UNROLL for (int part = 0; part < gemv_rows_parts_of(kind); part++) {
        V w[TILE_WEIGHTS];
        UNROLL for (int i = 0; i < TILE_WEIGHTS; i++)
            w[i] = end ? end[part][i] : load_w(kind, rows_of_w(kind, f, i), at, part);
        UNROLL for (int r = 0; r < rows; r++, x += LANES) {
            V value = v_load(x);
            UNROLL for (int i = 0; i < TILE_WEIGHTS; i++) sum[r][i] = v_fma(value, w[i], sum[r][i]);
        }
    }
    return x;
}

INLINE void ask_ahead(OperandKind kind, const FewTile *t, int64_t at) {
    UNROLL for (int i = 0; i < TILE_WEIGHTS; i++) __builtin_prefetch(
        (const char *)rows_of_w(kind, t->f, t->ahead.rows + i) + at * size_of_w(kind), 0, 2);
}

/* 'rows' and 'kind' are constants where inlined. */
INLINE void tile(int rows, OperandKind kind, const FewTile *t) {
    V sum[TILE_ROWS][TILE_WEIGHTS], end[2][TILE_WEIGHTS];
    const float *x = t->x;
    int64_t at = t->from, line = line_of(kind), numbers = numbers_of(kind), turn = t->ahead.turn,
            left = (t->to - at) % numbers;
    for (int i = 0; left && i < gemv_rows_parts_of(kind) * TILE_WEIGHTS; i++)
        end[i / TILE_WEIGHTS][i % TILE_WEIGHTS] = load_w_end(
            kind, rows_of_w(kind, t->f, i % TILE_WEIGHTS), t->to - left, left, i / TILE_WEIGHTS);
    start_sums(rows, t, sum);
    for (; at + line <= t->to;) {
        if (turn-- == 0) turn = t->ahead.turns - 1, ask_ahead(kind, t, at);
        for (int64_t whole = at + line; at < whole; at += numbers)
            x = gemv_rows_step(rows, kind, t->f, at, NULL, x, sum);
    }
    for (; at + numbers <= t->to; at += numbers)
        x = gemv_rows_step(rows, kind, t->f, at, NULL, x, sum);
    if (left) gemv_rows_step(rows, kind, t->f, at, end, x, sum);
    end_sums(rows, kind, t, sum);
}

INLINE void gemv_rows_pass(int rows, OperandKind kind, int64_t columns, FewTile t) {
    Few f = *t.f;
    for (t.f = &f; columns > 0; columns -= TILE_WEIGHTS) {
        tile(rows, kind, &t);
        f.w = rows_of_w(kind, &f, TILE_WEIGHTS);
        f.y = later(kind, f.y, 0, TILE_WEIGHTS);
        t.sums += rows * TILE_WEIGHTS * LANES;
    }
}

/* 'rows' rows of x by a block. */
INLINE void gemv_rows_some_rows(int rows, OperandKind kind, int64_t columns, const Few *f,
                                const float *x, float *sums, FewAhead ahead) {
    for (int64_t from = 0; from < f->k || from == 0; from += STEPS) {
        int64_t to = f->k - from < STEPS ? f->k : from + STEPS;
        gemv_rows_pass(
            rows, kind, columns,
            (FewTile){ f, x + from * rows, sums, from, to, from == 0, to == f->k, ahead });
    }
}

/* Five rows or more fall into tiles of three to six. */
INLINE void tile_rows(int64_t rows, OperandKind kind, int64_t columns, const Few *f, const float *x,
                      float *sums, FewAhead ahead) {
    switch (rows) {
    case 3: gemv_rows_some_rows(3, kind, columns, f, x, sums, ahead); break;
    case 4: gemv_rows_some_rows(4, kind, columns, f, x, sums, ahead); break;
    case 5: gemv_rows_some_rows(5, kind, columns, f, x, sums, ahead); break;
    default: gemv_rows_some_rows(TILE_ROWS, kind, columns, f, x, sums, ahead); break;
    }
}

/* The parts into which n things fall, none of more than 'most'; how many the next one has. */
INLINE int64_t parts_for(int64_t n, int64_t most) { return (n + most - 1) / most; }
INLINE int64_t gemv_rows_next_part(int64_t left, int64_t parts) {
    return (left + parts - 1) / parts;
}

INLINE int64_t laid_steps(OperandKind kind, int64_t k) {
    return (k + numbers_of(kind) - 1) / numbers_of(kind) * numbers_of(kind);
}

INLINE void lay_out_all(int64_t n, OperandKind kind, Few f, float *x) {
    for (int64_t tiles = parts_for(n, TILE_ROWS), rows; tiles > 0; tiles--, n -= rows) {
        rows = gemv_rows_next_part(n, tiles);
        lay_out(rows, kind, &f, x);
        f.x = rows_of_x(kind, &f, rows);
        x += rows * laid_steps(kind, f.k);
    }
}

/* What a tile asks for, of 'turns' tiles of a block: parts of the next block; but the first of all,
** and one that is alone, the rows of w that it takes next. */
INLINE FewAhead ahead_of(int64_t tile, int64_t turns, int64_t columns, int first, int more) {
    if (turns == 1 || (first && tile == 0)) return (FewAhead){ TILE_WEIGHTS, 0, 1 };
    if (!more) return (FewAhead){ 0, -1, 1 };
    return first ? (FewAhead){ columns, tile - 1, turns - 1 } : (FewAhead){ columns, tile, turns };
}

/* All rows of x by a block; is it the first, are there more? */
INLINE void block(int64_t n, int64_t columns, OperandKind kind, Few f, int first, int more,
                  const float *x, float *sums) {
    const int64_t turns = parts_for(n, TILE_ROWS);
    for (int64_t i = 0, rows; i < turns; i++, n -= rows) {
        rows = gemv_rows_next_part(n, turns - i);
        tile_rows(rows, kind, columns, &f, x, sums, ahead_of(i, turns, columns, first, more));
        f.y = later(kind, f.y, rows, 0);
        x += rows * laid_steps(kind, f.k);
    }
}

INLINE int64_t block_columns(OperandKind kind, const Few *f) {
    int64_t columns = BLOCK_BYTES / ((f->k + 1) * size_of_w(kind)) & ~(int64_t)(TILE_WEIGHTS - 1);
    return columns > COLUMNS ? COLUMNS : columns > TILE_WEIGHTS ? columns : TILE_WEIGHTS;
}

INLINE void all_blocks(int64_t n, int64_t columns, OperandKind kind, Few f, float *scratch) {
    float *x = scratch + SUM_FLOATS;
    int64_t most = block_columns(kind, &f);
    lay_out_all(n, kind, f, x);
    for (int first = 1; columns > 0; columns -= most, first = 0) {
        int64_t here = columns < most ? columns : most;
        block(n, here, kind, f, first, columns > most, x, scratch);
        f.w = rows_of_w(kind, &f, most);
        f.y = later(kind, f.y, 0, most);
    }
}

/* As many rows of x at a time as there is room for. */
INLINE void gemv_rows_all_rows(int64_t n, int64_t columns, OperandKind kind, Few f,
                               float *scratch) {
    int64_t most = FEW_FLOATS / laid_steps(kind, f.k > 0 ? f.k : 1);
    for (int64_t parts = parts_for(n, most), rows; parts > 0; parts--, n -= rows) {
        rows = gemv_rows_next_part(n, parts);
        all_blocks(rows, columns, kind, f, scratch);
        f.x = rows_of_x(kind, &f, rows);
        f.y = later(kind, f.y, rows, 0);
    }
}

void k_few_rows(int64_t n, int64_t columns, OperandKind kind, const Few *f, float *scratch) {
    switch (kind) {
    case FLOATS: gemv_rows_all_rows(n, columns, FLOATS, *f, scratch); break;
    case ROUNDED: gemv_rows_all_rows(n, columns, ROUNDED, *f, scratch); break;
    default: gemv_rows_all_rows(n, columns, BF16, *f, scratch); break;
    }
}
