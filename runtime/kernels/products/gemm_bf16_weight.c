/* SPDX-License-Identifier: MIT
** Gradients of weights, products of bfloat16: dw (+)= dy^T x, added up over tokens.  dy's columns
** are the left operand's rows: they are transposed with each block of columns of x, or for tiles,
** which are faster than that, once for all of them.
*/
#include "gemm_bf16.h"

#if STRATA_TILES
/* Columns of dw at once, and a cache line between rows of their sums. */
enum { WEIGHT_COLUMNS = 4 * PANEL, WEIGHT_LD = WEIGHT_COLUMNS + 16 };
_Static_assert(GROUP *WEIGHT_LD <= SUM_ROOM, "there is room for them");

/* Rows of bfloat16s that are packed next. */
static Ahead tokens_ahead(int64_t rows, int64_t columns, const uint16_t *x, int64_t ldx) {
    return (Ahead){ (const char *)x, 2 * ldx, rows, (2 * columns + 63) / 64 };
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

/* y (+)= turned x.  While one block of tokens is multiplied, the next arrives, at last 'then'. */
static void weight_block(int64_t n, WeightBlock w, BlockTarget y, float *scratch, Ahead then) {
    int64_t chunk = whole_steps(n);
    for (int64_t s = 0, part; s < n || s == 0; s += chunk) {
        part = n - s < chunk ? n - s : chunk;
        int64_t left = n - s - part < chunk ? n - s - part : chunk;
        pack_tokens(w.columns, part, w.x + s * w.ldx, w.ldx, scratch);
        multiply_ahead(w.rows, part, w.turned + s, w.ld, scratch, part_of(y, s, 0), w.columns,
                       scratch + BLOCK_ROOM, FAR_NOTHING,
                       left ? tokens_ahead(left, w.columns, w.x + (s + part) * w.ldx, w.ldx)
                            : then);
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
        weight_block(n, (WeightBlock){ turned, x + j, ld, ldx, rows, here },
                     (BlockTarget){ sum, WEIGHT_LD, 0, 0, 0 }, scratch,
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
    store_fence(); /* others may read them after this */
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
