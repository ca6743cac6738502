/* SPDX-License-Identifier: MIT
** A permutation of 0 … n-1 that is computed and not stored: a Feistel network of twelve rounds
** (six are uneven for small n) with Philox as its round function, on the smallest even number of
** bits that holds n - 1.  A result of n or more goes through the network again until it is smaller
** (cycle walking, Black and Rogaway 2002), less than four times on average.  The permutation
** depends only on seed, stream and n.
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
