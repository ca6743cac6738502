/* SPDX-License-Identifier: MIT
** Products of few steps in tiles, as in attention: operands are in the first-level cache, and
** starting and ending a sum costs as much as its steps.  The panel stays in tiles if it fits.
** Sums of 16 x 16 end one after another, so that storing one overlaps with the products of the
** next (when four of them ended together, they waited for each other: 179 cycles for 128 cycles of
** products).
**
** Part of bf16_dot.h.
*/
#ifndef STRATA_BF16_TILES_FEW_H
#define STRATA_BF16_TILES_FEW_H

/* The panel's columns from 'column' on, of the 32 steps that start at tile row 'part'. */
#define PANEL_TILE_(tile, part, column) \
    t_load(tile, panel + (part) * TILE * PANEL + (column), PANEL * 4)
#define START_(at)                   \
    do {                             \
        if (add) t_load(0, at, out); \
        else t_zero(0);              \
    } while (0)

/* c[16, 32] (+)= a[16, 32 or 64] panel, which is in tiles 4 to 7. */
#define ROWS_OF_TWO_(two)                        \
    do {                                         \
        t_load(2, a, row);                       \
        if (two) t_load(3, a + TILE_STEPS, row); \
        START_(c);                               \
        t_dot(0, 2, 4);                          \
        if (two) t_dot(0, 3, 6);                 \
        t_store(0, c, out);                      \
        START_(c + TILE);                        \
        t_dot(0, 2, 5);                          \
        if (two) t_dot(0, 3, 7);                 \
        t_store(0, c + TILE, out);               \
    } while (0)

INLINE void few_steps(const int two, int64_t rows, const uint16_t *a, int64_t lda,
                      const float *panel, float *c, int64_t ldc, const int add) {
    int64_t row = lda * (int64_t)sizeof *a, out = ldc * (int64_t)sizeof *c;
    TILES_HERE;
    PANEL_TILE_(4, 0, 0);
    PANEL_TILE_(5, 0, TILE);
    if (two) PANEL_TILE_(6, 1, 0);
    if (two) PANEL_TILE_(7, 1, TILE);
    for (int64_t r = 0; r < rows; r += TILE, a += TILE * lda, c += TILE * ldc)
        ROWS_OF_TWO_(two);
}

/* c[16, 16] (+)= a[16, 96] three tiles */
#define THREE_(x, y, z, at)                 \
    do {                                    \
        START_(at);                         \
        t_load(1, a, row);                  \
        t_dot(0, 1, x);                     \
        t_load(1, a + TILE_STEPS, row);     \
        t_dot(0, 1, y);                     \
        t_load(1, a + 2 * TILE_STEPS, row); \
        t_dot(0, 1, z);                     \
        t_store(0, at, out);                \
    } while (0)

INLINE void three_steps(int64_t rows, const uint16_t *a, int64_t lda, const float *panel, float *c,
                        int64_t ldc, const int add) {
    int64_t row = lda * (int64_t)sizeof *a, out = ldc * (int64_t)sizeof *c;
    TILES_HERE;
    PANEL_TILE_(2, 0, 0);
    PANEL_TILE_(3, 0, TILE);
    PANEL_TILE_(4, 1, 0);
    PANEL_TILE_(5, 1, TILE);
    PANEL_TILE_(6, 2, 0);
    PANEL_TILE_(7, 2, TILE);
    for (int64_t r = 0; r < rows; r += TILE, a += TILE * lda, c += TILE * ldc) {
        THREE_(2, 4, 6, c);
        THREE_(3, 5, 7, c + TILE);
    }
}

/* More: both operands come from the first-level cache for each product. */
INLINE void some_steps(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                       const float *panel, float *c, int64_t ldc, const int add) {
    int64_t row = lda * (int64_t)sizeof *a, out = ldc * (int64_t)sizeof *c;
    TILES_HERE;
    for (int64_t r = 0; r < rows; r += TILE, a += TILE * lda, c += TILE * ldc)
        for (int64_t j = 0; j < PANEL; j += TILE) {
            START_(c + j);
            for (int64_t s = 0; s < steps; s += TILE_STEPS) {
                t_load(1, a + s, row);
                PANEL_TILE_(2, s / TILE_STEPS, j);
                t_dot(0, 1, 2);
            }
            t_store(0, c + j, out);
        }
}

INLINE void few_tiles(int64_t rows, int64_t steps, const uint16_t *a, int64_t lda,
                      const float *panel, float *c, int64_t ldc, const int add) {
    if (steps == TILE_STEPS) few_steps(0, rows, a, lda, panel, c, ldc, add);
    else if (steps == 2 * TILE_STEPS) few_steps(1, rows, a, lda, panel, c, ldc, add);
    else if (steps == 3 * TILE_STEPS) three_steps(rows, a, lda, panel, c, ldc, add);
    else some_steps(rows, steps, a, lda, panel, c, ldc, add);
}

#endif
