/* SPDX-License-Identifier: MIT
** Rounding to the types of GGUF; see gguf_block.h. */
#include "gguf_block.h"

#include <math.h>
#include <string.h>

#include "bf16.h"
#include "f16.h"

enum { Q8_BYTES = 2 + GGUF_BLOCK };

static const struct {
    uint32_t id;
    int bytes, values;
} types[] = {
    [GGUF_F32] = { 0, 4, 1 },
    [GGUF_F16] = { 1, 2, 1 },
    [GGUF_BF16] = { 30, 2, 1 },
    [GGUF_Q8_0] = { 8, Q8_BYTES, GGUF_BLOCK },
};

uint32_t gguf_block_id(GgufType type) { return types[type].id; }

uint64_t gguf_block_bytes(GgufType type, int64_t count) {
    return (uint64_t)count / (uint64_t)types[type].values * (uint64_t)types[type].bytes;
}

static void put16(unsigned char *to, uint16_t value) { memcpy(to, &value, sizeof value); }

static uint16_t get16(const unsigned char *from) {
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* A factor, then 32 integers from -127 to 127.  Returns the place of a value that does not fit, or
** -1. */
static int64_t pack_q8(const float *x, unsigned char *to) {
    int64_t most = 0;
    for (int i = 0; i < GGUF_BLOCK; i++) {
        if (!isfinite(x[i])) return i;
        if (fabsf(x[i]) > fabsf(x[most])) most = i;
    }
    float factor = fabsf(x[most]) / 127, inverse = factor > 0 ? 1 / factor : 0;
    uint16_t half = f16_of(factor);
    if ((half & 0x7fff) >= 0x7c00) return most;
    put16(to, half);
    for (int i = 0; i < GGUF_BLOCK; i++)
        to[2 + i] = (unsigned char)(int8_t)roundf(isfinite(inverse) ? x[i] * inverse : 0);
    return -1;
}

int64_t gguf_block_pack(GgufType type, const float *x, int64_t n, unsigned char *to) {
    if (type == GGUF_F32) {
        memcpy(to, x, (size_t)n * sizeof *x);
        return -1;
    }
    for (int64_t i = 0; type == GGUF_Q8_0 && i < n; i += GGUF_BLOCK) {
        int64_t bad = pack_q8(x + i, to + i / GGUF_BLOCK * Q8_BYTES);
        if (bad >= 0) return i + bad;
    }
    for (int64_t i = 0; type != GGUF_Q8_0 && i < n; i++) {
        uint16_t half = type == GGUF_F16 ? f16_of(x[i]) : bf16_of(x[i]);
        if (type == GGUF_F16 ? (half & 0x7fff) >= 0x7c00 : (half & 0x7fff) >= 0x7f80) return i;
        put16(to + 2 * i, half);
    }
    return -1;
}

/* Half a step of the factor, and as much as the factor was rounded by. */
static bool q8_near(const float *x, const unsigned char *from, int i) {
    float factor = f16_value(get16(from));
    float value = factor * (float)(int8_t)from[2 + i];
    return fabsf(value - x[i]) <= 0.5f * factor + 127 * factor * 0x1p-11f + 0x1p-17f;
}

int64_t gguf_block_differs(GgufType type, const float *x, int64_t n, const unsigned char *from) {
    for (int64_t i = 0; i < n; i++) {
        float value = 0;
        if (type == GGUF_F32) memcpy(&value, from + 4 * i, sizeof value);
        else if (type == GGUF_F16) value = f16_value(get16(from + 2 * i));
        else if (type == GGUF_BF16) value = bf16_value(get16(from + 2 * i));
        else if (q8_near(x + i / GGUF_BLOCK * GGUF_BLOCK, from + i / GGUF_BLOCK * Q8_BYTES,
                         (int)(i % GGUF_BLOCK)))
            continue;
        else return i;
        double most = type == GGUF_F32 ? 0
            : type == GGUF_F16         ? fabs((double)x[i]) * 0x1p-11 + 0x1p-25
                                       : fabs((double)x[i]) * 0x1p-8;
        if (!(fabs((double)value - (double)x[i]) <= most)) return i;
    }
    return -1;
}
