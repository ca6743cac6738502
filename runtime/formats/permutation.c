/* SPDX-License-Identifier: MIT
** See permutation.h. */
#include "permutation.h"

#include "philox.h"

enum { ROUNDS = 12 };
#define PERMUTING UINT32_C(0x50000000) /* keeps its numbers from those of other uses of a seed */

static uint32_t mixed(const Permutation *p, uint32_t round, uint32_t half) {
    uint32_t counter[4] = { half, (uint32_t)p->number, (uint32_t)(p->number >> 32),
                            PERMUTING | round << 24 | p->stream };
    uint32_t key[2] = { (uint32_t)p->seed, (uint32_t)(p->seed >> 32) }, out[4];
    philox(counter, key, out);
    return out[0];
}

static uint64_t through(const Permutation *p, int half_bits, uint64_t i) {
    uint32_t mask = (uint32_t)((UINT64_C(1) << half_bits) - 1), left = (uint32_t)(i >> half_bits),
             right = (uint32_t)i & mask;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t next = left ^ (mixed(p, round, right) & mask);
        left = right;
        right = next;
    }
    return (uint64_t)left << half_bits | right;
}

uint64_t permutation_at(const Permutation *p, uint64_t i) {
    int half_bits = 1;
    while (half_bits < 31 && (p->n - 1) >> 2 * half_bits)
        half_bits++;
    do
        i = through(p, half_bits, i);
    while (i >= p->n);
    return i;
}
