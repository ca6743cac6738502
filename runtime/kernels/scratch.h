/* SPDX-License-Identifier: MIT
** A worker's scratch, and numbers of what lies there. */
#ifndef STRATA_SCRATCH_H
#define STRATA_SCRATCH_H

#include "min_max.h"
#include "vector.h"

/* Takes n floats of scratch, aligned to 64 bytes. */
INLINE float *take(float **scratch, int64_t n) {
    float *at = *scratch;
    *scratch += (n + 15) / 16 * 16;
    return at;
}

#endif
