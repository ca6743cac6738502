/* SPDX-License-Identifier: MIT
** How a cache stores a key or a value, a row of d numbers; for kernels, and for code that counts
** bytes.
**   F32    unchanged
**   BF16   rounded to bfloat16
**   Q8     groups of KEPT_GROUP, the last one may be shorter: first a float16 scale for each group,
**          then a signed byte for each number, which is scale * byte; rounded as in small_round.h
** A row takes whole floats, so that places in a cache are counted in floats for every type.
*/
#ifndef STRATA_KEPT_ROWS_H
#define STRATA_KEPT_ROWS_H

#include <stdint.h>

/* As strata_model.cache says it (abi.h). */
enum { KEPT_F32, KEPT_BF16, KEPT_Q8 };
enum { KEPT_GROUP = 32 };

/* Bytes of a row's scales. */
static inline int64_t kept_scales(int64_t d) { return 2 * ((d + KEPT_GROUP - 1) / KEPT_GROUP); }

/* Floats from one row of d numbers to the next. */
static inline int64_t kept_floats(int kept, int64_t d) {
    int64_t bytes = kept == KEPT_Q8 ? kept_scales(d) + d : kept == KEPT_BF16 ? 2 * d : 4 * d;
    return (bytes + 3) / 4;
}

#endif
