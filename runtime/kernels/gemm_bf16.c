/*
** Matrix products of bfloat16, added up in float32: --precision bf16. Tokens' values come as
** bfloat16 in memory; weights are float32 and rounded while they are packed, or are bfloat16 too;
** results are float32. The blocks are those of gemm.c; what multiplies a block is
**   pairs.h   tiles (AMX) or dot products of pairs (AVX512_BF16), two steps at once
**   widen.h   the float32 micro-kernel on numbers made float32 again, everywhere else
** With the second the bits are those of gemm.c's products of the rounded numbers.
*/
#include "kernels.h"
#include "gemm_tile.h"
#if STRATA_PAIRS
#include "attention_pairs.h"
#include "bf16_dot.h"
#else
#include "widen.h"
#endif

/* Results that become bfloat16 add up in float32 first: SUM_ROWS of them where each block of steps
** is packed when its turn comes, SUM_ONCE where all are there. */
enum { BLOCK_ROOM = BLOCK / PANEL * (STEPS_MAX * PANEL + 16), SUM_ROWS = 256 };
enum { SUM_ROOM = SUM_ROWS * (BLOCK + 32) };
_Static_assert(SUM_ONCE <= SUM_ROWS, "there is room for them");

int64_t k_gemm_bf16_scratch(void) {
    return (BLOCK_ROOM + LEFT_ROOM + SUM_ROOM) * (int64_t)sizeof(float);
}

/* Steps of each block but the last: whole tiles. */
INLINE int64_t whole_steps(int64_t steps) {
    return (equal_steps(steps, STEPS_PART) + STEPS_UNIT - 1) / STEPS_UNIT * STEPS_UNIT;
}

/* From one packed block of columns to the next. */
INLINE int64_t block_floats(int64_t steps) {
    return STRATA_PAIRS ? packed_pairs_block(BLOCK, steps, PANEL)
                        : packed_block(BLOCK, steps, PANEL);
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

/* The same for steps from s on, 'more' of which follow. */
static BlockTarget part_of(BlockTarget y, int64_t s, int more) {
    y.add |= s > 0;
    if (more) y.bf16 = 0;
    return y;
}

/* At most BLOCK columns from j on, which are packed by steps. */
static void linear_block(int64_t n, int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                         Weights w, int back, int64_t j, BlockTarget y, float *scratch) {
    int64_t chunk = whole_steps(steps);
    for (int64_t s = 0; s < steps || s == 0; s += chunk) {
        int64_t part = steps - s < chunk ? steps - s : chunk;
        pack_block(columns, part, w, back, j, s, scratch, scratch + BLOCK_ROOM);
        multiply_tokens(n, part, x + s, ldx, scratch, part_of(y, s, s + part < steps), columns,
                        scratch + BLOCK_ROOM);
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

#if STRATA_TILES
/* What is packed after the block, so many floats, is needed next: asked for meanwhile, if there are
** rows enough. */
static void multiply_then(int64_t n, int64_t steps, const uint16_t *x, int64_t ldx,
                          const float *block, BlockTarget y, int64_t columns, float *left,
                          int64_t floats) {
    Ahead ahead = { (const char *)(block + floats), 0, n >= 4 * ROWS_UNIT, 0, floats / 16, 0 };
    multiply_ahead(n, steps, x, ldx, block, y, columns, left, FAR_LEFT, ahead);
}
#else
static void multiply_then(int64_t n, int64_t steps, const uint16_t *x, int64_t ldx,
                          const float *block, BlockTarget y, int64_t columns, float *left,
                          int64_t floats) {
    (void)floats;
    multiply_tokens(n, steps, x, ldx, block, y, columns, left);
}
#endif

/* All columns of one block of steps after another: these steps of x then stay in cache. */
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
            multiply_then(n, part, x + s, ldx, block,
                          part_of(target(y, 0, j, left), s, s + part < steps), here, left,
                          panels * panel_room(part));
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
                multiply_then(rows, part, x + i * ldx + s, ldx, block,
                              part_of(target(y, i, j, sum), s, s + part < steps), here, left,
                              floats);
                block += floats;
            }
        }
}

void k_multiply_bf16(int64_t n, int64_t columns, int64_t steps, const uint16_t *x, int64_t ldx,
                     const float *packed, Result y, float *scratch) {
    if (y.floats) multiply_by_steps(n, columns, steps, x, ldx, packed, y, scratch);
    else
        multiply_by_columns(n, STRATA_PAIRS && steps <= whole_steps(steps) ? n : SUM_ONCE, columns,
                            steps, x, ldx, packed, y, scratch, scratch + LEFT_ROOM);
}

#if STRATA_TILES
/* Columns of dw at once, and a cache line between rows of their sums. */
enum { WEIGHT_COLUMNS = 4 * PANEL, WEIGHT_LD = WEIGHT_COLUMNS + 16 };
_Static_assert(GROUP * WEIGHT_LD <= SUM_ROOM, "there is room for them");

/* Rows of bfloat16s that are packed next. */
static Ahead tokens_ahead(int64_t rows, int64_t columns, const uint16_t *x, int64_t ldx) {
    return (Ahead){ (const char *)x, 2 * ldx, rows, 0, (2 * columns + 63) / 64, 0 };
}

/* What some tokens give dw, whose rows are far apart: a few cache sets for all of them, so that
** sums are not added up there. */
static void put_weights(int64_t rows, int64_t columns, const float *sum, float *dw, int64_t lddw,
                        int add) {
    for (int64_t r = 0; r < rows; r++, sum += WEIGHT_LD, dw += lddw) {
        int past = !add && (uintptr_t)dw % 64 == 0;
        int64_t j = 0;
        for (; past && j + LANES <= columns; j += LANES)
            __builtin_nontemporal_store(v_load(sum + j), (V *)(dw + j));
        for (; j + LANES <= columns; j += LANES)
            v_store(dw + j, add ? v_load(dw + j) + v_load(sum + j) : v_load(sum + j));
        for (; j < columns; j++)
            dw[j] = add ? dw[j] + sum[j] : sum[j];
    }
}

/* A product of tokens [0, n) for a block of columns; 'turned' is dy's transpose. */
typedef struct WeightBlock {
    const uint16_t *turned, *x;
    int64_t ld, ldx, rows, columns;
} WeightBlock;

/* sum = turned x.  While one block of tokens is multiplied, the next one arrives, at last 'then'. */
static void weight_block(int64_t n, WeightBlock w, float *sum, float *scratch, Ahead then) {
    int64_t chunk = whole_steps(n);
    for (int64_t s = 0, part; s < n || s == 0; s += chunk) {
        part = n - s < chunk ? n - s : chunk;
        int64_t left = n - s - part < chunk ? n - s - part : chunk;
        pack_tokens(w.columns, part, w.x + s * w.ldx, w.ldx, scratch);
        multiply_ahead(
            w.rows, part, w.turned + s, w.ld, scratch, (BlockTarget){ sum, WEIGHT_LD, s > 0, 0, 0 },
            w.columns, scratch + BLOCK_ROOM, FAR_NOTHING,
            left ? tokens_ahead(left, w.columns, w.x + (s + part) * w.ldx, w.ldx) : then);
    }
}

/* Rows of dw, at most GROUP, and what GROUP_MOST tokens or fewer give them. */
static void weight_group(int64_t n, int64_t rows, int64_t columns, const uint16_t *dy, int64_t lddy,
                         const uint16_t *x, int64_t ldx, float *dw, int64_t lddw, int add,
                         float *scratch, Ahead then) {
    float *sum = scratch + BLOCK_ROOM + LEFT_ROOM;
    uint16_t *turned = (uint16_t *)(scratch + BLOCK_ROOM + MULTIPLY_ROOM);
    int64_t ld = round_steps(n, GROUP_STEPS) + GROUP_APART;
    transpose_left(rows, n, dy, lddy, turned, ld);
    for (int64_t j = 0; j < columns; j += WEIGHT_COLUMNS) {
        int64_t left = columns - j, here = left < WEIGHT_COLUMNS ? left : WEIGHT_COLUMNS;
        left -= here;
        weight_block(n, (WeightBlock){ turned, x + j, ld, ldx, rows, here }, sum, scratch,
                     left ? tokens_ahead(n < STEPS_PART ? n : STEPS_PART,
                                         left < WEIGHT_COLUMNS ? left : WEIGHT_COLUMNS,
                                         x + j + here, ldx)
                          : then);
        put_weights(rows, here, sum, dw + j, lddw, add);
    }
}

void k_linear_weight_bf16(int64_t n, int64_t m0, int64_t m1, int64_t k0, int64_t k1,
                          const uint16_t *dy, int64_t lddy, const uint16_t *x, int64_t ldx,
                          float *dw, int64_t lddw, int add, float *scratch) {
    for (int64_t i = m0; i < m1; i += GROUP)
        for (int64_t s = 0; s < n || s == 0; s += GROUP_MOST) {
            int64_t rows = m1 - i < GROUP ? m1 - i : GROUP, left = n - s,
                    some = left < GROUP_MOST ? left : GROUP_MOST;
            left -= some;
            weight_group(some, rows, k1 - k0, dy + s * lddy + i, lddy, x + s * ldx + k0, ldx,
                         dw + i * lddw + k0, lddw, add || s > 0, scratch,
                         tokens_ahead(left < GROUP_MOST ? left : GROUP_MOST, rows,
                                      dy + (s + GROUP_MOST) * lddy + i, lddy));
        }
    __builtin_ia32_sfence(); /* others may read them after this */
}
#else
void k_linear_weight_bf16(int64_t n, int64_t m0, int64_t m1, int64_t k0, int64_t k1,
                          const uint16_t *dy, int64_t lddy, const uint16_t *x, int64_t ldx,
                          float *dw, int64_t lddw, int add, float *scratch) {
    float *left = scratch + BLOCK_ROOM;
    int64_t chunk = whole_steps(n);
    for (int64_t j = k0; j < k1; j += BLOCK) {
        int64_t columns = k1 - j < BLOCK ? k1 - j : BLOCK;
        for (int64_t s = 0; s < n || s == 0; s += chunk) {
            int64_t steps = n - s < chunk ? n - s : chunk;
            pack_tokens(columns, steps, x + s * ldx + j, ldx, scratch);
            for (int64_t i = m0; i < m1; i += GROUP) {
                int64_t rows = m1 - i < GROUP ? m1 - i : GROUP;
                multiply_transposed(rows, steps, dy + s * lddy + i, lddy, scratch,
                                    (BlockTarget){ dw + i * lddw + j, lddw, add || s > 0, 0, 0 },
                                    columns, left);
            }
        }
    }
}

#endif

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
    __builtin_ia32_sfence(); /* others may read them after this */
}
#else
/* Without pairs nothing is kept packed: it would be as large as the weights. */
void k_pack_rows_bf16(int64_t M, int64_t K, int64_t m0, int64_t m1, const float *w, float *forward,
                      float *back) {
    (void)M, (void)K, (void)m0, (void)m1, (void)w, (void)forward, (void)back;
}
#endif

#if STRATA_PAIRS
/* == For attention ======================================================== */

_Static_assert(PAIR_STEPS % STEPS_UNIT == 0 && PAIR_COLUMNS == PANEL,
               "attention fills up to what is multiplied");

int64_t k_pairs_spare(void) { return MULTIPLY_ROOM; }
int64_t k_pairs_block_floats(int64_t columns, int64_t steps) {
    return (columns + PANEL - 1) / PANEL * panel_room(steps);
}

void k_pairs_rows(int64_t n, int64_t d, const float *rows, int64_t ld, uint16_t *out) {
    int64_t whole = round_steps(d, PAIR_STEPS);
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < whole; e += LANES)
            v_store_bf16(out + t * whole + e, load_upto(rows + t * ld + e, d - e));
}

void k_pairs_turn(int64_t n, int64_t d, const uint16_t *rows, uint16_t *out) {
    transpose_left(d, n, rows, round_steps(d, PAIR_STEPS), out, round_steps(n, GROUP_STEPS));
}

void k_pairs_panel(int64_t steps, const float *panel, float *out) {
    for (int64_t s = 0; s < steps; s += 2)
        for (int v = 0; v < PANEL_VECTORS; v++) {
            const float *even = panel + s * PANEL + v * LANES;
            V odd = s + 1 < steps ? v_load(even + PANEL) : v_zero();
            v_store(out + s / 2 * PANEL + v * LANES, v_pairs(v_load(even), odd));
        }
    for (int64_t p = (steps + 1) / 2 * PANEL; p < round_steps(steps, PAIR_STEPS) / 2 * PANEL;
         p += LANES)
        v_store(out + p, v_zero());
}

void k_pairs_block(int64_t columns, int64_t steps, const float *w, int64_t ldw, float *out) {
    pack_weight_rows(columns, steps, w, ldw, out);
}

#if STRATA_TILES
void k_pairs_begin(void) { TILES_BEGIN; }
void k_pairs_end(void) { TILES_END; }

/* Rows and columns that fill no tiles. */
static void pairs_edge(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                       const float *block, float *c, int64_t ldc, int64_t columns, int add,
                       float *spare) {
    Soon none = { { 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0, 0 } };
    for (int64_t i = 0; i < rows; i += ROWS_UNIT)
        tile_rows(rows - i < ROWS_UNIT ? rows - i : ROWS_UNIT, steps, a + i * lda, lda, block,
                  (BlockTarget){ c + i * ldc, ldc, add, 0, 0 }, columns, 0, spare, &none);
}

void k_pairs_multiply(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                      const float *block, float *c, int64_t ldc, int64_t columns, int add,
                      float *spare) {
    int64_t whole = rows / TILE * TILE;
    for (int64_t j = 0; j < columns; j += PANEL, block += panel_room(steps)) {
        int64_t here = columns - j < PANEL ? columns - j : PANEL, from = here < PANEL ? 0 : whole;
        if (from && add) few_tiles(whole, steps, a, lda, block, c + j, ldc, 1);
        else if (from) few_tiles(whole, steps, a, lda, block, c + j, ldc, 0);
        if (from < rows)
            pairs_edge(rows - from, steps, a + from * lda, lda, block, c + from * ldc + j, ldc,
                       here, add, spare);
    }
}
#else
void k_pairs_begin(void) {}
void k_pairs_end(void) {}

void k_pairs_multiply(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                      const float *block, float *c, int64_t ldc, int64_t columns, int add,
                      float *spare) {
    multiply_tokens(rows, steps, a, lda, block, (BlockTarget){ c, ldc, add, 0, 0 }, columns, spare);
}
#endif
#endif
