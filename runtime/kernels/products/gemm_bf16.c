/* SPDX-License-Identifier: MIT
** Matrix products of bfloat16, added up in float32: --precision bf16. Tokens' values come as
** bfloat16 in memory; weights are float32 and rounded while they are packed, or are bfloat16 too;
** results are float32, or rounded to bfloat16 once they are added up. What multiplies a block is
**   bf16_dot.h   dot products of pairs of steps, or tiles (bf16_tiles.h)
**   widen.h      the float32 micro-kernel on numbers made float32 again, everywhere else
** With the second the blocks and bits are those of gemm.c's products of the rounded numbers.
*/
#include "gemm_bf16.h"

int64_t k_gemm_bf16_scratch(void) {
    return (BLOCK_ROOM + LEFT_ROOM + SUM_ROOM) * (int64_t)sizeof(float);
}

#if STRATA_PAIRS
/* The block whose columns are the first 'columns' rows of w[.., steps]. */
static void pack_bf16_columns(int64_t columns, int64_t steps, const uint16_t *w, int64_t ldw,
                              float *out, float *spare) {
    (void)spare;
    for (int64_t j = 0; j < columns; j += PANEL, out += panel_room(steps))
        for (int64_t v = 0; v < PANEL && j + v < columns; v += LANES)
            pack_pairs_rows(columns - j - v, steps, w + (j + v) * ldw, ldw, out + v);
}
#else
_Static_assert(LEFT_ROOM >= PANEL * STEPS_MAX, "there is room for the columns of a panel");

/* The block whose columns are the first 'columns' rows of w[.., steps]; 'spare': LEFT_ROOM. */
NOINLINE void pack_bf16_columns(int64_t columns, int64_t steps, const uint16_t *w, int64_t ldw,
                                float *out, float *spare) {
    for (int64_t j = 0; j < columns; j += PANEL, out += panel_room(steps)) {
        int64_t here = columns - j < PANEL ? columns - j : PANEL;
        for (int64_t i = 0; i < here; i++)
            widen(steps, w + (j + i) * ldw, spare + i * STEPS_MAX);
        pack_weight_columns(here, steps, spare, STEPS_MAX, out);
    }
}
#endif

/* The block of w that starts at column j and step s: of x w^T, of dy w if 'back'. */
INLINE void pack_block(int64_t columns, int64_t steps, Weights w, int back, int64_t j, int64_t s,
                       float *out, float *spare) {
    int64_t at = back ? s * w.ld + j : j * w.ld + s;
    if (w.bf16 && back) pack_tokens(columns, steps, w.bf16 + at, w.ld, out);
    else if (w.bf16) pack_bf16_columns(columns, steps, w.bf16 + at, w.ld, out, spare);
    else if (back) pack_weight_rows(columns, steps, w.floats + at, w.ld, out);
    else pack_weight_columns(columns, steps, w.floats + at, w.ld, out);
}

/* Where the columns from j on of the rows from i on go; 'sum': room for what becomes bfloat16. */
static BlockTarget target(Result y, int64_t i, int64_t j, float *sum) {
    y = result_at(y, i, j);
    return y.floats ? (BlockTarget){ y.floats, y.ld, y.add, 0, 0 }
                    : (BlockTarget){ sum, BLOCK, 0, y.bf16, y.ld };
}

/* Packed floats, for enough rows. */
static Ahead packed_after(int64_t n, const float *packed, int64_t floats) {
    return n >= 4 * ROWS_UNIT ? packed_ahead(packed, floats) : nothing_ahead();
}

static void multiply_packed(int64_t n, int64_t steps, const uint16_t *x, int64_t ldx,
                            const float *block, BlockTarget y, int64_t columns, float *left,
                            Ahead then) {
#if STRATA_TILES
    multiply_ahead(n, steps, x, ldx, block, y, columns, left, FAR_LEFT, then);
#else
    multiply_tokens(n, steps, x, ldx, block, y, columns, left, then);
#endif
}

/* At most BLOCK columns from j on, which are packed by steps. */
static void linear_block(int64_t n, int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                         Weights w, int back, int64_t j, BlockTarget y, float *scratch) {
    int64_t chunk = whole_steps(steps);
    for (int64_t s = 0; s < steps || s == 0; s += chunk) {
        int64_t part = steps - s < chunk ? steps - s : chunk;
        pack_block(columns, part, w, back, j, s, scratch, scratch + BLOCK_ROOM);
        multiply_packed(n, part, x + s, ldx, scratch, part_of(y, s, s + part < steps), columns,
                        scratch + BLOCK_ROOM, nothing_ahead());
    }
}

void k_linear_bf16(int64_t n, int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                   Weights w, int back, Result y, float *scratch) {
    int64_t once = y.floats ? n : SUM_ROWS;
    for (int64_t j = 0; j < columns; j += BLOCK) {
        int64_t here = columns - j < BLOCK ? columns - j : BLOCK;
        for (int64_t i = 0; i < n; i += once)
            linear_block(n - i < once ? n - i : once, here, steps, x + i * ldx, ldx, w, back, j,
                         target(y, i, j, scratch + BLOCK_ROOM + LEFT_ROOM), scratch);
    }
}

void k_pack_bf16(int64_t columns, int64_t steps, Weights w, int back, int64_t block, float *packed,
                 float *scratch) {
    int64_t j = block * BLOCK, chunk = whole_steps(steps);
    int64_t here = columns - j < BLOCK ? columns - j : BLOCK;
    packed += block * block_floats(steps);
    for (int64_t s = 0; s < steps || s == 0; s += chunk) {
        int64_t part = steps - s < chunk ? steps - s : chunk;
        pack_block(here, part, w, back, j, s, packed, scratch);
        packed += (here + PANEL - 1) / PANEL * panel_room(part);
    }
}

/* All columns of one block of steps after another: these steps of x then stay in cache. The block
** that is needed next arrives meanwhile. */
static void multiply_by_steps(int64_t n, int64_t columns, int64_t steps, const uint16_t *x,
                              int64_t ldx, const float *packed, Result y, float *left) {
    int64_t chunk = whole_steps(steps);
    for (int64_t s = 0; s < steps || s == 0; s += chunk)
        for (int64_t j = 0; j < columns; j += BLOCK) {
            int64_t part = steps - s < chunk ? steps - s : chunk,
                    here = columns - j < BLOCK ? columns - j : BLOCK,
                    panels = (here + PANEL - 1) / PANEL;
            const float *block = packed + j / BLOCK * block_floats(steps)
                + s / chunk * panels * panel_room(chunk);
            multiply_packed(
                n, part, x + s, ldx, block, part_of(target(y, 0, j, left), s, s + part < steps),
                here, left,
                packed_after(n, block + block_floats(steps), panels * panel_room(part)));
        }
}

/* All steps of one block of columns after another, for 'once' rows: they add up in 'sum'. */
static void multiply_by_columns(int64_t n, int64_t once, int64_t columns, int64_t steps,
                                const uint16_t *x, int64_t ldx, const float *packed, Result y,
                                float *left, float *sum) {
    int64_t chunk = whole_steps(steps);
    for (int64_t j = 0; j < columns; j += BLOCK)
        for (int64_t i = 0; i < n; i += once) {
            int64_t here = columns - j < BLOCK ? columns - j : BLOCK,
                    rows = n - i < once ? n - i : once;
            const float *block = packed + j / BLOCK * block_floats(steps);
            for (int64_t s = 0, part; s < steps || s == 0; s += chunk) {
                part = steps - s < chunk ? steps - s : chunk;
                int64_t floats = (here + PANEL - 1) / PANEL * panel_room(part);
                multiply_packed(rows, part, x + i * ldx + s, ldx, block,
                                part_of(target(y, i, j, sum), s, s + part < steps), here, left,
                                packed_after(rows, block + floats, floats));
                block += floats;
            }
        }
}

void k_multiply_bf16(int64_t n, int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                     const float *packed, Result y, float *scratch) {
    if (y.floats) multiply_by_steps(n, columns, steps, x, ldx, packed, y, scratch);
    else
        multiply_by_columns(n, STRATA_TILES && steps <= whole_steps(steps) ? n : SUM_ONCE, columns,
                            steps, x, ldx, packed, y, scratch, scratch + LEFT_ROOM);
}

/* == What the optimizer keeps packed ====================================== */

#if STRATA_PAIRS
_Static_assert(PACK_ROWS % PANEL == 0 && PACK_ROWS % STEPS_UNIT == 0,
               "rows are whole panels and whole tiles of steps");

static int is_on_line(const float *p) { return (uintptr_t)p % 64 == 0; }

/* The next step reads them, from memory: they go there past the caches. */
static void past_columns(int64_t columns, int64_t steps, const float *w, int64_t ldw, float *out) {
    if (is_on_line(out)) weight_columns(columns, steps, w, ldw, out, 1);
    else weight_columns(columns, steps, w, ldw, out, 0);
}

static void past_rows(int64_t columns, int64_t steps, int64_t from, int64_t to, const float *w,
                      int64_t ldw, float *out) {
    if (is_on_line(out)) pack_some_rows(columns, steps, from, to, w, ldw, out, 1);
    else pack_some_rows(columns, steps, from, to, w, ldw, out, 0);
}

/* Rows [m0, m1) as columns of x w^T. */
static void pack_forward(int64_t K, int64_t m0, int64_t m1, int64_t M, const float *w,
                         float *packed) {
    int64_t chunk = whole_steps(K),
            here = M - m0 / BLOCK * BLOCK < BLOCK ? M - m0 / BLOCK * BLOCK : BLOCK;
    packed += m0 / BLOCK * block_floats(K);
    for (int64_t s = 0; s < K || s == 0; s += chunk) {
        int64_t part = K - s < chunk ? K - s : chunk;
        past_columns(m1 - m0, part, w + m0 * K + s, K,
                     packed + m0 % BLOCK / PANEL * panel_room(part));
        packed += (here + PANEL - 1) / PANEL * panel_room(part);
    }
}

/* The same rows as steps of dy w, none of which is of another block of steps. */
static void pack_back(int64_t K, int64_t m0, int64_t m1, int64_t M, const float *w, float *packed) {
    int64_t chunk = whole_steps(M), s = m0 / chunk * chunk, part = M - s < chunk ? M - s : chunk;
    for (int64_t j = 0; j < K; j += BLOCK, packed += block_floats(M)) {
        int64_t here = K - j < BLOCK ? K - j : BLOCK;
        past_rows(here, part, m0 - s, m1 - s, w + m0 * K + j, K,
                  packed + s / chunk * ((here + PANEL - 1) / PANEL) * panel_room(chunk));
    }
}

void k_pack_rows_bf16(int64_t M, int64_t K, int64_t m0, int64_t m1, const float *w, float *forward,
                      float *back) {
    int64_t chunk = whole_steps(M);
    if (forward) pack_forward(K, m0, m1, M, w, forward);
    for (int64_t m = m0, end; back && m < m1; m = end) {
        end = (m / chunk + 1) * chunk < m1 ? (m / chunk + 1) * chunk : m1;
        pack_back(K, m, end, M, w, back);
    }
    store_fence(); /* others may read them after this */
}
#else
/* Without pairs nothing is kept packed: it would be as large as the weights. */
void k_pack_rows_bf16(int64_t M, int64_t K, int64_t m0, int64_t m1, const float *w, float *forward,
                      float *back) {
    (void)M, (void)K, (void)m0, (void)m1, (void)w, (void)forward, (void)back;
}
#endif
