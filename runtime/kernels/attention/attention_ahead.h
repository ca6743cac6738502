/* SPDX-License-Identifier: MIT
** Prefetches rows that attention needs soon, a few between its products: prefetched all at once,
** they would wait for each other and delay the current rows.
*/
#ifndef STRATA_ATTENTION_AHEAD_H
#define STRATA_ATTENTION_AHEAD_H

#include "scratch.h"

enum { AHEAD_RANGES = 8, LINE_FLOATS = 16 };

/* n rows of 'lines' cache lines each, 'ld' floats apart. */
typedef struct RowRange {
    const float *at;
    int64_t ld, n, lines;
} RowRange;

typedef struct RowsAhead {
    RowRange range[AHEAD_RANGES];
    int64_t ranges, first, row, left; /* the next to ask for; left: lines in all */
} RowsAhead;

INLINE void ahead_clear(RowsAhead *x) { x->ranges = x->first = x->row = x->left = 0; }

/* Any address will do; what there is no room for is not asked for. */
INLINE void ahead_add(RowsAhead *x, int64_t n, int64_t d, const float *rows, int64_t ld) {
    if (n <= 0 || x->ranges == AHEAD_RANGES) return;
    int64_t lines = (d + LINE_FLOATS - 1) / LINE_FLOATS;
    x->range[x->ranges++] = (RowRange){ rows, ld, n, lines };
    x->left += n * lines;
}

/* Asks for a share of what is left: one of 'shares' that are to come. */
INLINE void ahead_ask(RowsAhead *x, int64_t shares) {
    int64_t lines = shares > 1 ? (x->left + shares - 1) / shares : x->left;
    while (lines > 0 && x->first < x->ranges) {
        const RowRange *r = &x->range[x->first];
        const float *row = r->at + x->row * r->ld;
        for (int64_t l = 0; l < r->lines; l++)
            __builtin_prefetch(row + l * LINE_FLOATS, 0, 2);
        lines -= r->lines;
        x->left -= r->lines;
        if (++x->row < r->n) continue;
        x->row = 0;
        x->first++;
    }
}

#endif
