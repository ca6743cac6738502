/* SPDX-License-Identifier: MIT
** float16 (IEEE binary16): every one of them is a float32. */
#ifndef STRATA_F16_H
#define STRATA_F16_H

#include <stdint.h>

static inline float f16_value(uint16_t f16) {
    uint32_t sign = (uint32_t)(f16 & 0x8000) << 16, e = f16 >> 10 & 31, m = f16 & 1023, bits;
    float x;
    if (!e) return (sign ? -1.0f : 1.0f) * (float)m * 0x1p-24f;
    bits = sign | (e == 31 ? 255u : e + 112) << 23 | m << 13;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* Nearest, ties to even; what is too large becomes infinite. */
static inline uint16_t f16_of(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size >= 0x477ff000) /* 65520 */
        return (uint16_t)(sign | (size > 0x7f800000 ? 0x7e00 : 0x7c00));
    if (size < 113u << 23) { /* 2^-14: what is below are multiples of 2^-24, an ulp of 1/2 */
        float up = (bits >> 31 ? -x : x) + 0.5f;
        __builtin_memcpy(&bits, &up, sizeof bits);
        return (uint16_t)(sign | (bits - (126u << 23)));
    }
    uint32_t m = size - (112u << 23);
    return (uint16_t)(sign | (m + 0xfff + (m >> 13 & 1)) >> 13);
}

/* Of a float32 that is a finite float16. */
static inline uint16_t f16_exactly(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, e = bits >> 23 & 255, m = bits >> 13 & 1023;
    if (e >= 113) return (uint16_t)(sign | (e - 112) << 10 | m);
    return (uint16_t)(sign | (uint32_t)((sign ? -x : x) * 0x1p24f));
}

#endif
