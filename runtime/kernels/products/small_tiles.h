/* SPDX-License-Identifier: MIT
** Products with small weights in tiles (tiles.h): the same numbers as small_product.c's, bit for
** bit, as dot products of integers are exact.
*/
#ifndef STRATA_SMALL_TILES_H
#define STRATA_SMALL_TILES_H

#include "small_dots.h"

#if DOTS_OF_TILES
#include "tiles.h"

/* Rows at a time; for which tiles' codes pay. */
enum { ROWS_UNIT = TILE, FEWEST_IN_TILES = 32 };

/* A panel's codes as bytes with signs, q8's less 128. */
static void sign_codes(int bits, Panel b, uint8_t *to) {
    VI zero = vi_splat(bits == 8 ? (int32_t)0x80808080 : 0);
    for (int64_t g = 0; g < b.groups; g++, to += small_codes(8))
        UNROLL for (int i = 0; i < LINES; i++)
            vi_store((int32_t *)(void *)(to + i * CODE_LINE),
                     code_line(bits, b.code + g * small_codes(bits), i) ^ zero);
}

/* Group g of a panel. */
INLINE Panel group_of(int bits, Panel b, int64_t g) {
    return (Panel){ b.code, b.scale + g * small_scales(bits), b.groups };
}

/* The panel's columns by TILE rows.  While a group's dot products come from a tile, those of the
** group before are added up: what was just stored from a tile is long in coming. */
INLINE void tile_codes(int bits, Panel b, const uint8_t *code, const RoundedGroup *x, Result y,
                       int64_t left) {
    int64_t step = b.groups * (int64_t)sizeof *x, g = 0;
    V sum[TILE];
    VI dots[2][TILE];
    TILES_HERE;
    UNROLL for (int r = 0; r < TILE; r++) sum[r] = v_zero();
#define MULTIPLY_GROUP(i, g)                                     \
    t_zero(i);                                                   \
    t_load_left(4 + i, x[g].code, step);                         \
    t_load_right(6 + i, code + (g) * small_codes(8), CODE_LINE); \
    t_dot_codes(i, 4 + i, 6 + i);                                \
    t_store(i, dots[i], CODE_LINE)
#define ADD_GROUP(i, g) add_dot_products(TILE, bits, group_of(bits, b, g), x + (g), dots[i], sum)
    MULTIPLY_GROUP(0, 0);
    for (; g + 2 < b.groups; g += 2) {
        MULTIPLY_GROUP(1, g + 1);
        ADD_GROUP(0, g);
        MULTIPLY_GROUP(0, g + 2);
        ADD_GROUP(1, g + 1);
    }
    ADD_GROUP(0, g);
    if (g + 1 < b.groups) {
        MULTIPLY_GROUP(1, g + 1);
        ADD_GROUP(1, g + 1);
    }
#undef MULTIPLY_GROUP
#undef ADD_GROUP
    UNROLL for (int r = 0; r < TILE; r++) put_columns(y, r, 0, left, sum[r]);
}

/* As many rows as fill tiles; the number of them. */
INLINE int64_t rows_in_tiles(int64_t n, int bits, Panel b, const RoundedGroup *x, Result y,
                             int64_t left, uint8_t *code) {
    int64_t r = 0;
    if (n < FEWEST_IN_TILES) return 0;
    sign_codes(bits, b, code);
    CODES_BEGIN;
    for (; r + TILE <= n; r += TILE)
        tile_codes(bits, b, code, x + r * b.groups, result_at(y, r, 0), left);
    TILES_END;
    return r;
}
#else
enum { ROWS_UNIT = ROWS };

INLINE int64_t rows_in_tiles(int64_t n, int bits, Panel b, const RoundedGroup *x, Result y,
                             int64_t left, uint8_t *code) {
    (void)n, (void)bits, (void)b, (void)x, (void)y, (void)left, (void)code;
    return 0;
}
#endif

#endif
