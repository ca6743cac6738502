/* SPDX-License-Identifier: MIT
** See peak.h.  Tiles have four chains. */
#include "peak.h"
#include "peak_chains.h"

#include <string.h>
#include <immintrin.h>

#define V __m256
#define SET(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
__attribute__((target("avx2,fma"))) static float chains_avx2(int64_t rounds){ BODY }
#undef V
#undef SET
#undef FMA
#define V __m512
#define SET(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
__attribute__((target("avx512f"))) static float chains_avx512(int64_t rounds){ BODY }
#undef V
#undef SET
#undef FMA

#define DOT(i) a##i = _mm512_dpbf16_ps(a##i, m, c);
__attribute__((target("avx512f,avx512bf16"))) static float chains_pairs(int64_t rounds) {
    __m512 s = _mm512_setzero_ps();
    __m512bh m = (__m512bh)_mm512_set1_epi32(0x3f7f3f7f),
             c = (__m512bh)_mm512_set1_epi32(0x3a833a83);
#define V __m512
#define SET(x) _mm512_set1_ps(x)
    EACH(DECLARE)
    for (int64_t n = 0; n < rounds; n++) {
        EACH(DOT)
    }
    EACH(ADD)
#undef V
#undef SET
    return s[0];
}

/* Twelve products of tiles a round: four sums, three times. */
__attribute__((target("amx-tile,amx-bf16"))) static float chains_tiles(int64_t rounds) {
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shape = {
        1, 0, { 0 }, { 64, 64, 64, 64, 64, 64, 64, 64 }, { 16, 16, 16, 16, 16, 16, 16, 16 }
    };
    static const uint16_t zeros[16][32];
    float sum[16][16];
    _tile_loadconfig(&shape);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, zeros, 64);
    _tile_loadd(5, zeros, 64);
    _tile_loadd(6, zeros, 64);
    _tile_loadd(7, zeros, 64);
    for (int64_t n = 0; n < rounds; n++) {
        for (int i = 0; i < 3; i++) {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, sum, 64);
    _tile_release();
    return sum[0][0];
}

/* Of float32 in parts a sixth of what tiles add. */
PeakLoop peak_loop(Multiplier m) {
    double parts = m == MULTIPLY_PARTS ? 6 : 1;
    if (m == MULTIPLY_TILES || m == MULTIPLY_PARTS)
        return (PeakLoop){ chains_tiles, 2000, 16 * 16 * 32 / parts };
    if (m == MULTIPLY_PAIRS) return (PeakLoop){ chains_pairs, 0, 32 };
    if (__builtin_cpu_supports("avx512f")) return (PeakLoop){ chains_avx512, 0, 16 };
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (PeakLoop){ chains_avx2, 0, 8 };
    return (PeakLoop){ 0 };
}

Multiplier peak_multiplier(const char *cpu, bool narrow, bool own) {
    if (strstr(cpu, "+amx-bf16") && (narrow || own))
        return narrow ? MULTIPLY_TILES : MULTIPLY_PARTS;
    return narrow && strstr(cpu, "+avx512bf16") ? MULTIPLY_PAIRS : MULTIPLY_FLOATS;
}
