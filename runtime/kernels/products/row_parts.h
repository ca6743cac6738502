/* SPDX-License-Identifier: MIT
** How products divide their rows: into parts with as many accumulators of two vectors as registers
** hold.
*/
#ifndef STRATA_ROW_PARTS_H
#define STRATA_ROW_PARTS_H

#include "vector.h"

#if LANES == 16
enum { ROWS = 12 };
#define ROW_CASES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#else
enum { ROWS = 6 };
#define ROW_CASES(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif

/* The i-th of 'parts' nearly equal shares of n starts here. */
INLINE int64_t share(int64_t n, int64_t parts, int64_t i) {
    return n / parts * i + (i < n % parts ? i : n % parts);
}

#endif
