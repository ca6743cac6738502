/* SPDX-License-Identifier: MIT
** Indices: from the index of a result's element to the index of the operand's element that it
** needs.
*/
#include "rows_code.h"
#include "fatal.h"

int index_last_axis(const Shape *s) {
    for (int i = s->rank - 1; i >= 0; i--)
        if (s->dim[i] != 1) return i;
    return -1;
}

/* The index of the operand's element that broadcasts to 'at'. */
At index_project(RowCode *c, const Shape *from, const Shape *to, At at) {
    At out = { .lane = -1 };
    int shift = from->rank - to->rank;
    for (int i = 0; i < to->rank; i++) {
        bool fixed = to->dim[i] == 1;
        out.idx[i] = fixed ? e_i64(c->e, 0) : at.idx[i + shift];
        if (!fixed && at.lane == i + shift) out.lane = i;
    }
    return out;
}

/* Between shapes that differ by axes of length 1. */
At index_retrace(RowCode *c, const Shape *from, const Shape *to, At at) {
    At out = { .lane = -1 };
    int k = 0;
    for (int i = 0; i < to->rank; i++) {
        out.idx[i] = e_i64(c->e, 0);
        if (to->dim[i] == 1) continue;
        while (from->dim[k] == 1)
            k++;
        out.idx[i] = at.idx[k];
        if (at.lane == k) out.lane = i;
        k++;
    }
    return out;
}

static V from_count(RowCode *c, bool counts, int64_t number) {
    if (!counts) return e_i64(c->e, number);
    return e_iadd(c->e, c->count, e_i64(c->e, number - c->r->count));
}

V index_length(RowCode *c, int64_t length) {
    return from_count(c, rows_counts(c->r, length), length);
}

V index_first(RowCode *c, int64_t first) { return from_count(c, rows_begins(c->r, first), first); }

V index_count(RowCode *c, const Shape *s) {
    V n = e_i64(c->e, 1);
    for (int i = 0; i < s->rank; i++)
        n = e_imul(c->e, n, index_length(c, s->dim[i]));
    return n;
}

/* Row-major position; *step is the distance between lanes. */
V index_position(RowCode *c, const Shape *s, At at, int64_t *step) {
    V sum = e_i64(c->e, 0);
    V counted = NULL;
    int64_t stride = 1;
    *step = 0;
    for (int i = s->rank - 1; i >= 0; i--) {
        V apart = e_i64(c->e, stride);
        if (counted) apart = e_imul(c->e, apart, counted);
        if (s->dim[i] != 1) sum = e_iadd(c->e, e_imul(c->e, at.idx[i], apart), sum);
        if (at.lane == i && counted && c->now.lanes > 1 && c->now.mode != MODE_TOKENS)
            bug(NULL, "a row kernel has lanes as far apart as a list is long");
        if (at.lane == i) *step = counted ? 0 : stride;
        if (c->count && rows_counts(c->r, s->dim[i])) {
            V length = index_length(c, s->dim[i]);
            counted = counted ? e_imul(c->e, counted, length) : length;
        } else stride *= s->dim[i];
    }
    return sum;
}
