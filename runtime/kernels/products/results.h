/* SPDX-License-Identifier: MIT
** Where vectors of a product's results are stored.
*/
#ifndef STRATA_RESULTS_H
#define STRATA_RESULTS_H

#include "kernels.h"
#include "vector.h"

/* 'left' columns of a row of the result, as many as a vector has at most. */
INLINE void put_columns(Result y, int64_t row, int64_t column, int64_t left, V x) {
    int64_t at = row * y.ld + column;
    if (y.bf16 && left >= LANES) v_store_bf16(y.bf16 + at, x);
    else if (y.bf16) {
        VH narrow = v_narrow(x);
        for (int l = 0; l < LANES && l < left; l++)
            y.bf16[at + l] = narrow[l];
    } else if (left >= LANES) v_store(y.floats + at, y.add ? v_load(y.floats + at) + x : x);
    else v_store_part(y.floats + at, y.add ? v_load_part(y.floats + at, left) + x : x, left);
}

#endif
