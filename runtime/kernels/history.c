/* SPDX-License-Identifier: MIT
** Moves rows of a sequence in time, and stores the last rows in a state.
*/
#include "history.h"

/* Of no row: zeros. */
INLINE void copy_row(int64_t n, const float *from, float *to) {
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES)
        v_store(to + c, from ? v_load(from + c) : v_zero());
    if (c < n) v_store_part(to + c, from ? v_load_part(from + c, n - c) : v_zero(), n - c);
}

void k_shift(const History *h, int earlier, int64_t r0, int64_t r1, float *y, int64_t ldy) {
    for (int64_t r = r0, b = 0; r < r1;) {
        RowSpan s = span_from(h, b, r);
        for (b = s.b; r < r1 && r < s.end; r++) {
            int64_t from = earlier ? r - h->depth : r + h->depth;
            copy_row(h->columns, from < s.end ? row_of(h, s, from) : NULL, y + r * ldy);
        }
    }
}

/* Rows that stay move to the front first: of fewer new rows than are carried. */
void k_carry(const History *h) {
    for (int64_t b = 0; b < h->sequences; b++) {
        int64_t first = h->first ? h->first[b] : b * h->time,
                end = h->first ? h->first[b + 1] : first + h->time;
        int64_t stay = h->depth - (end - first);
        float *to = carried_rows(h, b);
        for (int64_t i = 0; i < stay; i++)
            copy_row(h->columns, to + (i + end - first) * h->columns, to + i * h->columns);
        for (int64_t i = stay < 0 ? 0 : stay; i < h->depth; i++)
            copy_row(h->columns, h->x + (end - h->depth + i) * h->ldx, to + i * h->columns);
    }
}
