/* SPDX-License-Identifier: MIT
** Where the rows of a sequence and of its past lie (kernels.h, History). */
#ifndef STRATA_HISTORY_H
#define STRATA_HISTORY_H

#include "kernels.h"
#include "vector.h"

/* The rows of the sequence that has row r, which is of sequence b or a later one. */
typedef struct RowSpan {
    int64_t b, first, end;
} RowSpan;

INLINE RowSpan span_from(const History *h, int64_t b, int64_t r) {
    if (!h->first)
        return (RowSpan){ r / h->time, r / h->time * h->time, (r / h->time + 1) * h->time };
    while (h->first[b + 1] <= r)
        b++;
    return (RowSpan){ b, h->first[b], h->first[b + 1] };
}

INLINE float *carried_rows(const History *h, int64_t b) {
    return (float *)((char *)h->states[b] + h->carried);
}

/* Row r of a sequence, or one before its first row; NULL: a sequence that begins has none there. */
INLINE const float *row_of(const History *h, RowSpan s, int64_t r) {
    if (r >= s.first) return h->x + r * h->ldx;
    return h->states ? carried_rows(h, s.b) + (h->depth + r - s.first) * h->columns : NULL;
}

#endif
