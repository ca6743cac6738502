/* SPDX-License-Identifier: MIT
** Packing for products.  The right operand of a product, a block of kc steps by
** nc columns, is laid out in panels of PANEL columns: panel j holds, step after
** step, the PANEL floats of its columns.  The micro-kernel then reads one
** stream, whatever the matrix' leading dimension was.
**
** Columns beyond the last are filled with anything finite or not: their results
** are never stored, and no other column's result depends on them.
**
** 'bf16' is a constant where inlined: the packed numbers are rounded to bfloat16.
*/
#ifndef STRATA_PACK_H
#define STRATA_PACK_H

#include "packed.h"
#include "vector.h"

enum { PANEL_VECTORS = 2, PANEL = PANEL_VECTORS * LANES };
/* Rows that pack_steps asks for in advance: its pieces of rows are too short to be foreseen. */
enum { AHEAD = 4 };

/* Memory that is needed next, to be asked for while other work is done: so many cache lines of each
** of its rows, which are 'stride' bytes apart. */
typedef struct Ahead {
    const char *at;
    int64_t stride, rows, lines;
} Ahead;

INLINE Ahead nothing_ahead(void) { return (Ahead){ 0, 0, 0, 0 }; }

/* Packed floats. */
INLINE Ahead packed_ahead(const float *packed, int64_t floats) {
    return (Ahead){ (const char *)packed, 64, floats / 16, 1 };
}

/* bfloat16 as float32 */
INLINE void widen(int64_t n, const uint16_t *from, float *to) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(to + i, v_load_bf16(from + i));
    if (i < n) v_store_part(to + i, v_load_bf16_part(from + i, n - i), n - i);
}

INLINE int64_t panel_stride(int64_t kc) { return packed_panel(kc, PANEL); }

/* Shuffles within each group of four lanes. */
#if LANES == 16
#define FOURS_(a, b, i, j, k, l)                                                             \
    __builtin_shufflevector(a, b, i, j, k + 12, l + 12, i + 4, j + 4, k + 16, l + 16, i + 8, \
                            j + 8, k + 20, l + 20, i + 12, j + 12, k + 24, l + 24)
#elif LANES == 8
#define FOURS_(a, b, i, j, k, l) \
    __builtin_shufflevector(a, b, i, j, k + 4, l + 4, i + 4, j + 4, k + 8, l + 8)
#else
#define FOURS_(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#endif

typedef float V4Mem __attribute__((vector_size(16), aligned(4), may_alias));

INLINE void pack_store(float *out, V x, int bf16) { v_store(out, bf16 ? v_bf16(x) : x); }

/* Four floats of each of LANES rows: row[0], row[4], .. side by side. */
INLINE V load_fours(const float *const *row, int64_t at) {
    V4 a = *(const V4Mem *)(row[0] + at);
#if LANES == 4
    return a;
#else
    V4 b = *(const V4Mem *)(row[4] + at);
    V8 low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#if LANES == 8
    return low;
#else
    V4 c = *(const V4Mem *)(row[8] + at), d = *(const V4Mem *)(row[12] + at);
    V8 high = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
#endif
}

/* t[step][l] = row[l][at + step] for four steps and all lanes l. */
INLINE void transpose_four(const float *const *row, int64_t at, V *t) {
    V r0 = load_fours(row, at), r1 = load_fours(row + 1, at);
    V r2 = load_fours(row + 2, at), r3 = load_fours(row + 3, at);
    V low01 = FOURS_(r0, r1, 0, 1, 4, 5), high01 = FOURS_(r0, r1, 2, 3, 6, 7);
    V low23 = FOURS_(r2, r3, 0, 1, 4, 5), high23 = FOURS_(r2, r3, 2, 3, 6, 7);
    t[0] = FOURS_(low01, low23, 0, 2, 4, 6);
    t[1] = FOURS_(low01, low23, 1, 3, 5, 7);
    t[2] = FOURS_(high01, high23, 0, 2, 4, 6);
    t[3] = FOURS_(high01, high23, 1, 3, 5, 7);
}

/* Step 'step' of each row. */
INLINE V gather_step(const float *const *row, int64_t step) {
    V x = v_zero();
    for (int l = 0; l < LANES; l++)
        x[l] = row[l][step];
    return x;
}

/* Rows first, first + 1, .. of w, as many as lanes; those beyond 'last' repeat it. */
INLINE void rows_of(const float *w, int64_t ldw, int64_t first, int64_t last, const float **row) {
    for (int l = 0; l < LANES; l++)
        row[l] = w + (first + l < last ? first + l : last) * ldw;
}

/* LANES columns of one panel from as many rows of w.
** Sixteen steps at a time: a cache line of each row is used up before it can be evicted. */
INLINE void pack_lanes(const float *w, int64_t ldw, int64_t first, int64_t last, int64_t kc,
                       float *out, int bf16) {
    const float *row[LANES];
    V t[4];
    rows_of(w, ldw, first, last, row);
    int64_t step = 0;
    for (; step + 16 <= kc; step += 16)
        UNROLL for (int part = 0; part < 16; part += 4) {
            transpose_four(row, step + part, t);
            UNROLL for (int s = 0; s < 4; s++)
                pack_store(out + (step + part + s) * PANEL, t[s], bf16);
        }
    for (; step + 4 <= kc; step += 4) {
        transpose_four(row, step, t);
        UNROLL for (int s = 0; s < 4; s++) pack_store(out + (step + s) * PANEL, t[s], bf16);
    }
    for (; step < kc; step++)
        pack_store(out + step * PANEL, gather_step(row, step), bf16);
}

/* The block whose columns are the first 'columns' rows of w[.., kc]. */
INLINE void pack_transposed(int64_t columns, int64_t kc, const float *w, int64_t ldw, float *out,
                            int bf16) {
    for (int64_t j = 0; j < columns; j += PANEL, out += panel_stride(kc))
        for (int v = 0; v < PANEL_VECTORS; v++)
            pack_lanes(w, ldw, j + v * LANES, columns - 1, kc, out + v * LANES, bf16);
}

/* n floats, 0 < n < PANEL, of a panel's step. */
INLINE void copy_part(const float *from, int64_t n, float *to, int bf16) {
    for (int v = 0; v < PANEL_VECTORS; v++) {
        int64_t left = n - v * LANES;
        pack_store(to + v * LANES,
                   left >= LANES  ? v_load(from + v * LANES)
                       : left > 0 ? v_load_part(from + v * LANES, left)
                                  : v_zero(),
                   bf16);
    }
}

/* Where the rows of steps begin: 'ld' apart, or each where 'row' says, which then is known as many
** rows further as any function asks for in advance. */
typedef struct StepRows {
    const float *at;
    int64_t ld;
    const float *const *row;
} StepRows;

INLINE const float *step_row(StepRows r, int64_t step) {
    return r.row ? r.row[step] : r.at + step * r.ld;
}

/* The block whose columns are the first 'columns' columns of the rows of kc steps. */
INLINE void pack_steps(int64_t columns, int64_t kc, StepRows rows, float *out, int bf16) {
    int64_t whole = columns / PANEL, part = columns % PANEL;
    for (int64_t step = 0; step < kc; step++) {
        const float *from = step_row(rows, step), *soon = step_row(rows, step + AHEAD);
        float *to = out + step * PANEL;
        for (int64_t j = 0; j < whole; j++, from += PANEL, to += panel_stride(kc)) {
            __builtin_prefetch(soon + j * PANEL);
            for (int v = 0; v < PANEL_VECTORS; v++)
                pack_store(to + v * LANES, v_load(from + v * LANES), bf16);
        }
        if (part) copy_part(from, part, to, bf16);
    }
}

/* The same of w[kc, ..]. */
INLINE void pack_rows(int64_t columns, int64_t kc, const float *w, int64_t ldw, float *out,
                      int bf16) {
    pack_steps(columns, kc, (StepRows){ w, ldw, 0 }, out, bf16);
}

#endif
