/* SPDX-License-Identifier: MIT
** The tile registers of AMX (Intel, Sapphire Rapids and later); a part of tiles.h, which says what
** its words mean.
*/
/* What ldtilecfg reads: palette 1, every tile whole. */
typedef struct TileShape {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} TileShape;
static const TileShape tile_shape = { 1,
                                      0,
                                      { 0 },
                                      { 64, 64, 64, 64, 64, 64, 64, 64 },
                                      { TILE, TILE, TILE, TILE, TILE, TILE, TILE, TILE } };
_Static_assert(sizeof tile_shape == 64, "the processor's format");

static const TileShape code_shape = {
    1, 0, { 0 }, { 64, 64, 64, 64, 32, 32, 64, 64 }, { TILE, TILE, TILE, TILE, TILE, TILE, 8, 8 }
};

INLINE void tiles_of_columns(int64_t n) {
    TileShape shape = tile_shape;
    for (int i = 0; i < 8; i++)
        if (i < 4 || i > 5) shape.bytes[i] = (uint16_t)(4 * n);
    _tile_loadconfig(&shape);
}

/* Between them the thread has tiles; a context switch then saves 8 KB more. */
#define TILES_BEGIN _tile_loadconfig(&tile_shape)
#define CODES_BEGIN _tile_loadconfig(&code_shape)
#define TILES_END _tile_release()
#define TILES_HERE /* where tiles are used: they are the thread's */
#define t_zero(i) _tile_zero(i)
#define t_load(i, from, step) _tile_loadd(i, from, step)
/* The same, of what leaves the first-level cache to others. */
#define t_stream(i, from, step) _tile_stream_loadd(i, from, step)
#define t_store(i, to, step) _tile_stored(i, to, step)
#define t_dot(c, a, b) _tile_dpbf16ps(c, a, b)
#define t_load_left(i, from, step) _tile_loadd(i, from, step)
#define t_load_right(i, from, step) _tile_loadd(i, from, step)
#define t_dot_codes(c, a, b) _tile_dpbssd(c, a, b)
#define TILES_OF_COLUMNS(n) tiles_of_columns(n)
#define t_load_columns(i, from, bytes) _tile_loadd(i, from, bytes)
#define t_store_columns(i, to, bytes) _tile_stored(i, to, bytes)
