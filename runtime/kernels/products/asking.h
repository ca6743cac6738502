/* SPDX-License-Identifier: MIT
** Prefetches of products in tiles: tile instructions leave the processor time for them, and the
** hardware predicts few of the addresses that come next.
*/
#ifndef STRATA_ASKING_H
#define STRATA_ASKING_H

#include "pack.h"

/* What each 32 steps ask for: 'each' cache lines, the next of which is 'line' of the first row, to
** be in the second-level cache. */
typedef struct Asking {
    Ahead ahead;
    int64_t line, each;
} Asking;

/* Memory for each 32 steps of a product, and for those of the rows at hand. */
typedef struct TilesSoon {
    Asking then, left;
} TilesSoon;

INLINE void ask(Asking *x) {
    Ahead *a = &x->ahead;
    for (int64_t i = 0; i < x->each && a->rows > 0; i++) {
        __builtin_prefetch(a->at + x->line * 64, 0, 2);
        if (++x->line < a->lines) continue;
        x->line = 0;
        a->at += a->stride;
        a->rows--;
    }
}

/* All of it in so many times. */
INLINE Asking asked_in(Ahead x, int64_t times) {
    return (Asking){ x, 0, times > 0 ? (x.rows * x.lines + times - 1) / times : 0 };
}

#endif
