/* SPDX-License-Identifier: MIT
** A permutation of 0 … n-1 that is computed and not stored: a Feistel network of twelve rounds
** (with six, those of few numbers are uneven) on the even number of bits that n - 1 fits in, its
** round function Philox; what falls beyond n goes through it again until it does not (cycle
** walking, Black and Rogaway 2002), less than four times on average.  A function of seed, stream
** and number alone.
*/
#ifndef STRATA_PERMUTATION_H
#define STRATA_PERMUTATION_H

#include <stdint.h>

typedef struct Permutation {
    uint64_t n; /* at least 1, at most 2^62 */
    uint64_t seed;
    uint32_t stream; /* of the seed, below 2^24 */
    uint64_t number; /* one of many */
} Permutation;

/* Where i < n goes. */
uint64_t permutation_at(const Permutation *p, uint64_t i);

#endif
