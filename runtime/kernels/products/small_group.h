/* SPDX-License-Identifier: MIT
** A group of numbers that share a scale, and float16 numbers: shared by small weights and caches.
*/
#ifndef STRATA_SMALL_GROUP_H
#define STRATA_SMALL_GROUP_H

#include "small_weights.h"
#include "vector.h"

/* The largest magnitude of a group; NaN if there is one, whose bits are larger than any other's. */
INLINE float largest_of(const V x[GROUP / LANES]) {
    VI most = { 0 };
    UNROLL for (int i = 0; i < GROUP / LANES; i++) {
        VI bits = (VI)v_abs(x[i]), larger = bits > most;
        most = (bits & larger) | (most & ~larger);
    }
    int32_t bits = 0;
    UNROLL for (int l = 0; l < LANES; l++) bits = most[l] > bits ? most[l] : bits;
    return v_from_bits(vi_splat(bits))[0];
}

/* float16s as floats: finite ones. */
INLINE V load_half(const uint8_t *p) {
#ifdef SIMD_HALVES
    return v_load_half(p);
#else
    VU bits = __builtin_convertvector(*(const VHMem *)p, VU);
    V size = (V)((bits & 0x7fff) << 13) * 0x1p112f;
    return (V)((VU)size | (bits & 0x8000) << 16);
#endif
}

/* One of them, any. */
INLINE float half_value(const uint8_t *p) {
    uint32_t bits = p[0] | (uint32_t)p[1] << 8;
#ifdef SIMD_HALF
    return s_half(bits);
#else
    uint32_t size = (bits & 0x7fff) << 13;
    float x;
    if (size >= 0x7c00u << 13) size |= 0x7f800000;
    __builtin_memcpy(&x, &size, sizeof x);
    if (size < 0x7f800000) x *= 0x1p112f;
    return bits & 0x8000 ? -x : x;
#endif
}

#endif
