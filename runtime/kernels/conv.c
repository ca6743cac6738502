/* SPDX-License-Identifier: MIT
** Causal convolution over the rows of sequences.  Lanes are columns; a vector's columns pass
** through all rows of a task with four taps at a time in registers.  Rows whose past (or,
** backward, future) is not in the same sequence of this call are processed one by one.  In both
** cases a result is one chain of multiply-adds that begins with the earliest row, so that its bits
** do not depend on where a call or a task begins.
*/
#include "taps.h"

enum { TOGETHER = 16 };

/* The taps of a result that are multiplied by row 'from'. */
INLINE const float *taps_at(const Convolution *c, int back, int64_t r, int64_t from) {
    return c->w + (back ? from : r) * c->ldw;
}

/* The earliest row of a result r, if that is there, is row r + earliest. */
INLINE int64_t earliest(const Convolution *c, int back) { return back ? 0 : 1 - c->taps; }

/* == Rows that have all of theirs in the call ============================= */

/* Of the rows of a result N from the k-th on, added to what is there if k > 0: rows [r0,r1). */
INLINE void add_some(const Convolution *c, int back, const TapColumns *at, int64_t k, const int N,
                     int64_t r0, int64_t r1, float *y, int64_t ldy) {
    int64_t j = back ? c->taps - N - k : k;
    V tap[4];
    if (N == 4) load_four_taps(c->w, at, j, tap);
    else tap[0] = load_tap(c->w, at, j);
    for (int64_t r = r0; r < r1; r++) {
        V sum = k ? load_columns(y + r * ldy, at) : v_zero();
        UNROLL
        for (int i = 0; i < N; i++) {
            int64_t from = r + earliest(c, back) + k + i;
            if (c->ldw && (back || !i)) {
                if (N == 4) load_four_taps(taps_at(c, back, r, from), at, j, tap);
                else tap[0] = load_tap(taps_at(c, back, r, from), at, j);
            }
            sum = v_fma(tap[back ? N - 1 - i : i], load_columns(c->x.x + from * c->x.ldx, at), sum);
        }
        store_columns(y + r * ldy, sum, at);
    }
}

/* A few rows at a time: so many streams of memory a processor follows. */
INLINE void whole_rows(const Convolution *c, int back, int64_t r0, int64_t r1, float *y,
                       int64_t ldy) {
    for (int64_t r = r0; r < r1; r += TOGETHER)
        for (int64_t col = 0; col < c->x.columns; col += LANES) {
            TapColumns at = tap_columns(c, col, c->x.columns);
            int64_t k = 0, end = r + TOGETHER < r1 ? r + TOGETHER : r1;
            for (; k + 4 <= c->taps; k += 4)
                add_some(c, back, &at, k, 4, r, end, y, ldy);
            for (; k < c->taps; k++)
                add_some(c, back, &at, k, 1, r, end, y, ldy);
        }
}

/* == Rows that have not =================================================== */

/* A result without what is before its sequence, or behind it. */
INLINE void edge_row(const Convolution *c, int back, RowSpan s, int64_t r, float *y) {
    for (int64_t col = 0; col < c->x.columns; col += LANES) {
        TapColumns at = tap_columns(c, col, c->x.columns);
        V sum = v_zero(), tap[4];
        for (int64_t k = 0; k < c->taps; k++) {
            int64_t from = r + earliest(c, back) + k;
            const float *x = from < s.end ? row_of(&c->x, s, from) : NULL;
            int four = !back && k / 4 * 4 + 4 <= c->taps;
            if (four && k % 4 == 0) load_four_taps(taps_at(c, back, r, from), &at, k, tap);
            if (!x) continue;
            V w = four ? tap[k % 4]
                       : load_tap(taps_at(c, back, r, from), &at, back ? c->taps - 1 - k : k);
            sum = v_fma(w, load_columns(x, &at), sum);
        }
        store_columns(y, sum, &at);
    }
}

INLINE int64_t between(int64_t x, int64_t least, int64_t most) {
    return x < least ? least : x < most ? x : most;
}

/* Forward a sequence's first rows are at its edge, backward its last ones. */
INLINE void convolve(const Convolution *c, int back, int64_t r0, int64_t r1, float *y,
                     int64_t ldy) {
    int64_t edge = c->taps - 1;
    for (int64_t r = r0, b = 0; r < r1;) {
        RowSpan s = span_from(&c->x, b, r);
        int64_t end = s.end < r1 ? s.end : r1;
        int64_t first = back ? r : between(s.first + edge, r, end),
                last = back ? between(s.end - edge, r, end) : end;
        for (; r < first; r++)
            edge_row(c, back, s, r, y + r * ldy);
        whole_rows(c, back, first, last, y, ldy);
        for (r = last; r < end; r++)
            edge_row(c, back, s, r, y + r * ldy);
        b = s.b;
    }
}

void k_conv(const Convolution *c, int64_t r0, int64_t r1, float *y, int64_t ldy) {
    convolve(c, 0, r0, r1, y, ldy);
}

void k_conv_back(const Convolution *c, int64_t r0, int64_t r1, float *dx, int64_t lddx) {
    convolve(c, 1, r0, r1, dx, lddx);
}
