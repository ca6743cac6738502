/* SPDX-License-Identifier: MIT
** Philox4x32-10 (Salmon et al., 2011): computes four random words from a counter and a key.  It
** has a header of its own because models use it as well as programs.
*/
#ifndef STRATA_PHILOX_H
#define STRATA_PHILOX_H

#include <stdint.h>

static inline void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0],
             k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c0 * 0xD2511F53u, b = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Number 'element' of row 'row' of a model's stream, in (0, 1), exact in float32; 'draw' says which
** call. */
static inline float philox_uniform(uint64_t draw, uint32_t stream, uint64_t row, uint32_t element) {
    uint32_t x[4], key[2] = { (uint32_t)draw, (uint32_t)(draw >> 32) };
    uint32_t counter[4] = { (uint32_t)row, (uint32_t)(row >> 32), stream, element / 4 };
    philox(counter, key, x);
    return ((float)(x[element % 4] >> 9) + 0.5f) * 0x1p-23f;
}

#endif
