/* SPDX-License-Identifier: MIT
** bfloat16: the upper half of a float32. */
#ifndef STRATA_BF16_H
#define STRATA_BF16_H

#include <stdint.h>
#include <string.h>

/* The largest float32 that is not rounded to infinity; doubles beyond it may become the next one
** first. */
#define BF16_MOST 0x1.fefffep127

/* The nearest one, of two as near the even one; x is a number. */
static inline uint16_t bf16_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float bf16_value(uint16_t bf16) {
    uint32_t bits = (uint32_t)bf16 << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
