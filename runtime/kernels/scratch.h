/* SPDX-License-Identifier: MIT
** A worker's scratch, and numbers of what lies there. */
#ifndef STRATA_SCRATCH_H
#define STRATA_SCRATCH_H

#include "vector.h"

INLINE int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* Takes n floats of scratch, aligned to 64 bytes. */
INLINE float *take(float **scratch, int64_t n) {
    float *at = *scratch;
    *scratch += (n + 15) / 16 * 16;
    return at;
}

#endif
