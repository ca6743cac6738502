/* SPDX-License-Identifier: MIT
** Rounding to small weights (small_weights.h), one group of a column at a time, in double
** precision:
**   q8  scale = float16(largest magnitude / 127), code = 128 + x / scale, at most 127 to each side
**   q4  least = float16(smallest x), scale = float16((largest x - least) / 15),
**       code = (x - least) / scale, 0 ... 15
** Codes are the nearest integers, and the even one of two that are equally near; 0 / 0 is 0.
*/
#ifndef STRATA_SMALL_ROUND_H
#define STRATA_SMALL_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "small_weights.h"

typedef struct SmallGroup {
    uint16_t scale, least; /* float16 */
    uint8_t code[GROUP];
} SmallGroup;

/* n values, at most GROUP. False: one is NaN or infinite, or a float16 does not hold their scale or
** the smallest of them. */
bool small_round(const float *x, int64_t n, int bits, SmallGroup *g);

/* A group of a column into its place in a panel that was zeros, of a matrix with so many steps. */
void small_put(uint8_t *panel, int64_t steps, int64_t column, int64_t group, int bits,
               const SmallGroup *g);
/* The same, out of it. */
SmallGroup small_get(const uint8_t *panel, int64_t steps, int64_t column, int64_t group, int bits);

/* x[steps] becomes a column of a panel; false: as of small_round. */
bool small_put_column(uint8_t *panel, int64_t steps, int64_t column, int bits, const float *x);

#endif
