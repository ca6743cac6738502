/* SPDX-License-Identifier: MIT
** Tile registers: eight of 16 rows of 64 bytes.
** t_dot adds to each of 16 x 16 floats the products of 32 steps: a tile of the left operand has
** a row of C's 32 steps in each row, one of the right operand a pair of steps of 16 columns.
** Between CODES_BEGIN and TILES_END tiles 4 and 5 are 16 rows of 32 bytes, 6 and 7 are 8 rows of
** 64: t_dot_codes adds to each of 16 x 16 integers the products of 32 steps, bytes with signs,
** four steps of a column side by side.  Between TILES_OF_COLUMNS(n) and TILES_END all but 4 and 5
** have n columns of floats, n <= 16; their rows lie in memory one after another.
**
** With STRATA_TILES_IN_C they are memory and loops: tests of what uses them run anywhere.
*/
#ifndef STRATA_TILES_H
#define STRATA_TILES_H

#include <stdint.h>

enum { TILE = 16, TILE_STEPS = 32 }; /* rows and columns of floats; steps of bfloat16s */

#ifdef STRATA_TILES_IN_C
typedef union Tile {
    float f[TILE][TILE];
    uint16_t h[TILE][TILE_STEPS];
    int32_t i[TILE][TILE];
    int8_t b[TILE][64];
} Tile;
typedef struct Tiles {
    Tile t[8];
} Tiles;

INLINE void tile_part(void *to, const void *from, int64_t to_step, int64_t from_step, int rows,
                      uint64_t bytes) {
    for (int r = 0; r < rows; r++)
        __builtin_memcpy((char *)to + r * to_step, (const char *)from + r * from_step, bytes);
}

INLINE void tile_copy(void *to, const void *from, int64_t to_step, int64_t from_step) {
    tile_part(to, from, to_step, from_step, TILE, 64);
}

INLINE void tile_columns(Tile *to, const void *from, int64_t bytes) {
    __builtin_memset(to, 0, sizeof *to);
    tile_part(to, from, 64, bytes, TILE, (uint64_t)bytes);
}

INLINE float tile_number(uint16_t bf16) { return __builtin_bit_cast(float, (uint32_t)bf16 << 16); }

/* As the processor's instruction does: steps of even number add up, and those of odd number, and
** then both are added.  What is below 2^-126, which it takes for 0, stays. */
INLINE void tile_dot(Tile *c, const Tile *a, const Tile *b) {
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++) {
            float sum[2] = { 0, 0 };
            for (int s = 0; s < TILE_STEPS; s++)
                sum[s % 2] = __builtin_fmaf(tile_number(a->h[i][s]),
                                            tile_number(b->h[s / 2][2 * j + s % 2]), sum[s % 2]);
            c->f[i][j] += sum[0] + sum[1];
        }
}

INLINE void tile_dot_codes(Tile *c, const Tile *a, const Tile *b) {
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++)
            for (int s = 0; s < TILE_STEPS; s++)
                c->i[i][j] += a->b[i][s] * b->b[s / 4][4 * j + s % 4];
}

#define TILES_BEGIN
#define CODES_BEGIN
#define TILES_END
#define TILES_HERE Tiles tiles
#define t_zero(i) __builtin_memset(&tiles.t[i], 0, sizeof(Tile))
#define t_load(i, from, step) tile_copy(&tiles.t[i], from, 64, step)
#define t_stream t_load
#define t_store(i, to, step) tile_copy(to, &tiles.t[i], step, 64)
#define t_dot(c, a, b) tile_dot(&tiles.t[c], &tiles.t[a], &tiles.t[b])
#define t_load_left(i, from, step) tile_part(&tiles.t[i], from, 64, step, TILE, TILE_STEPS)
#define t_load_right(i, from, step) tile_part(&tiles.t[i], from, 64, step, TILE_STEPS / 4, 64)
#define t_dot_codes(c, a, b) tile_dot_codes(&tiles.t[c], &tiles.t[a], &tiles.t[b])
#define TILES_OF_COLUMNS(n)
#define t_load_columns(i, from, bytes) tile_columns(&tiles.t[i], from, bytes)
#define t_store_columns(i, to, bytes) tile_part(to, &tiles.t[i], bytes, 64, TILE, (uint64_t)(bytes))
#else
#include "tile_registers.h" /* the target's */
#endif

#endif
