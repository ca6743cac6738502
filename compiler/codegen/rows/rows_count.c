/* SPDX-License-Identifier: MIT
** What is as long as the series of a kernel, or nearly so. */
#include "rows_analysis.h"

enum {
    PARTS = 64
}; /* so many pieces before the end of a list, and behind it, are found from there */

bool rows_counts(const Rows *r, int64_t length) {
    return r->count && length >= r->count - ROWS_NEAR && length <= r->count + ROWS_NEAR;
}

bool rows_begins(const Rows *r, int64_t first) {
    return r->count && first > ROWS_UNROLL && first >= r->count - PARTS
        && first <= r->count + PARTS;
}

int rows_counted_axes(const Rows *r, const Shape *s) {
    int n = 0;
    for (int i = 0; i < s->rank; i++)
        n += rows_counts(r, s->dim[i]);
    return n;
}

bool rows_counted(const Rows *r, const Shape *s) { return rows_counted_axes(r, s) > 0; }
