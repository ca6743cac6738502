/* SPDX-License-Identifier: MIT
** Values of tokens that lie one row apart, one token per lane, for generated row kernels.  They
** are functions because a kernel uses many: inlined, they were a third of the code of a backward
** kernel and of its compile time.
*/
#include "vector.h"

#define EXPORTED __attribute__((used, visibility("hidden"), noinline))

EXPORTED __attribute__((pure)) V k_collect(const float *row, int64_t stride, int64_t last);
EXPORTED void k_spread(float *row, int64_t stride, V x);

/* Lane i is row[i * stride]; lanes after the last repeat it. */
V k_collect(const float *row, int64_t stride, int64_t last) {
    V x;
    if (last >= LANES - 1) {
        for (int i = 0; i < LANES; i++)
            x[i] = row[i * stride];
    } else {
        for (int i = 0; i < LANES; i++)
            x[i] = row[(i < last ? i : last) * stride];
    }
    return x;
}

/* row[i * stride] becomes lane i. */
void k_spread(float *row, int64_t stride, V x) {
    for (int i = 0; i < LANES; i++)
        row[i * stride] = x[i];
}
