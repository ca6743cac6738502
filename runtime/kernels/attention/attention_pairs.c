/* SPDX-License-Identifier: MIT
** Products of attention in pairs of bfloat16 numbers, with the micro-kernels of gemm_bf16.c.
*/
#include "gemm_bf16.h"
#if STRATA_PAIRS
#include "attention_pairs.h"

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

void k_pairs_copy(int64_t n, int64_t d, const float *rows, int64_t ld, uint16_t *out) {
    for (int64_t t = 0; t < n; t++)
        for (int64_t e = 0; e < d; e += 2 * LANES)
            v_store((float *)(out + t * d + e), v_load(rows + t * ld + e / 2));
}

void k_pairs_panel(int64_t n, int64_t d, const float *rows, int64_t ld, float *panel) {
    for (int64_t first = 0; first < PANEL; first += LANES)
        for (int64_t e = 0; e < d; e += 2 * LANES) {
            V t[LANES];
            UNROLL for (int i = 0; i < LANES; i++)
                t[i] = first + i < n ? v_load(rows + (first + i) * ld + e / 2) : v_zero();
            transpose_all(t);
            UNROLL for (int i = 0; i < LANES; i++)
                v_store(panel + (e / 2 + i) * PANEL + first, t[i]);
        }
}

void k_pairs_block_of(int64_t columns, int64_t steps, const float *rows, int64_t ld, float *out) {
    pack_tokens(columns, steps, (const uint16_t *)rows, 2 * ld, out);
}

void k_pairs_turn(int64_t n, int64_t d, const uint16_t *rows, uint16_t *out) {
    transpose_left(d, n, rows, round_steps(d, PAIR_STEPS), out, round_steps(n, GROUP_STEPS));
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
    TilesSoon none = { { nothing_ahead(), 0, 0 }, { nothing_ahead(), 0, 0 } };
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
    multiply_tokens(rows, steps, a, lda, block, (BlockTarget){ c, ldc, add, 0, 0 }, columns, spare,
                    nothing_ahead());
}
#endif
#endif
