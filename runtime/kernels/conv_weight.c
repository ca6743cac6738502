/* SPDX-License-Identifier: MIT
** Gradients of a convolution's taps: of each row its own, or summed over all rows: per column sums
** of a granule's rows, added up granule by granule, then the columns that share taps in order.
*/
#include "taps.h"

enum { TILE = 64 }; /* columns that go through a granule together */

/* == By row =============================================================== */

INLINE V load_row(const float *row, const TapColumns *at) {
    return row ? load_columns(row, at) : v_zero();
}

/* Of columns that have taps of their own. */
INLINE void own_taps(const Convolution *c, RowSpan s, int64_t r, const float *dy, float *dw) {
    int64_t from = r + 1 - c->taps;
    for (int64_t col = 0; col < c->x.columns; col += LANES) {
        TapColumns at = tap_columns(c, col, c->x.columns);
        V d = load_columns(dy, &at), tap[4];
        for (int j = 0; at.dense && j < 4; j++)
            tap[j] = d * load_row(row_of(&c->x, s, from + j), &at);
        if (at.dense) store_four_taps(dw, &at, tap);
        for (int64_t j = 0; !at.dense && j < c->taps; j++) {
            V x = d * load_row(row_of(&c->x, s, from + j), &at);
            for (int64_t l = 0; l < at.lanes; l++)
                dw[at.offset[l] + j] = x[l];
        }
    }
}

/* Of groups of columns: sums over each. */
INLINE void shared_taps(const Convolution *c, RowSpan s, int64_t r, const float *dy, float *dw) {
    int64_t width = c->x.columns / c->groups;
    for (int64_t g = 0; g < c->groups; g++)
        for (int64_t j = 0; j < c->taps; j++) {
            const float *x = row_of(&c->x, s, r + 1 - c->taps + j);
            V sum = v_zero();
            for (int64_t i = 0; x && i < width; i += LANES) {
                TapColumns at = {
                    g * width + i, width - i < LANES ? width - i : LANES, { 0 }, 0, 0
                };
                sum = v_fma(load_columns(dy, &at), load_columns(x, &at), sum);
            }
            dw[g * c->taps + j] = v_sum(sum);
        }
}

void k_conv_taps(const Convolution *c, const float *dy, int64_t lddy, int64_t r0, int64_t r1,
                 float *dw, int64_t lddw) {
    for (int64_t r = r0, b = 0; r < r1;) {
        RowSpan s = span_from(&c->x, b, r);
        for (b = s.b; r < r1 && r < s.end; r++)
            if (c->groups == c->x.columns) own_taps(c, s, r, dy + r * lddy, dw + r * lddw);
            else shared_taps(c, s, r, dy + r * lddy, dw + r * lddw);
    }
}

/* == Summed over rows ===================================================== */

/* Adds a vector of columns' sums over rows [r0,r1), a granule or less, of N taps from the j-th. */
INLINE void add_granule(const Convolution *c, const float *dy, int64_t lddy, const TapColumns *at,
                        int64_t j, const int N, int64_t r0, int64_t r1, RowSpan s, V *total) {
    V sum[4];
    for (int i = 0; i < N; i++)
        sum[i] = v_zero();
    for (int64_t r = r0; r < r1; r++) {
        if (r >= s.end) s = span_from(&c->x, s.b, r);
        int64_t from = r + 1 - c->taps + j;
        V d = load_columns(dy + r * lddy, at);
        UNROLL
        for (int i = 0; i < N; i++)
            if (from + i >= s.first)
                sum[i] = v_fma(d, load_columns(c->x.x + (from + i) * c->x.ldx, at), sum[i]);
    }
    for (int i = 0; i < N; i++)
        total[i] += sum[i];
}

/* N taps from the j-th of columns [c0,c1), at most TILE, added to dw. */
INLINE void add_tile(const Convolution *c, const float *dy, int64_t lddy, int64_t granule,
                     int64_t j, const int N, int64_t c0, int64_t c1, float *dw) {
    int64_t rows = c->x.first ? c->x.first[c->x.sequences] : c->x.sequences * c->x.time;
    V total[TILE / LANES][4];
    RowSpan s = { 0, 0, 0 };
    for (int v = 0; v < TILE / LANES; v++)
        for (int i = 0; i < N; i++)
            total[v][i] = v_zero();
    for (int64_t r = 0; r < rows; r += granule) {
        int64_t end = r + granule < rows ? r + granule : rows;
        s = span_from(&c->x, s.b, r);
        for (int64_t col = c0; col < c1; col += LANES) {
            TapColumns at = { col, c1 - col < LANES ? c1 - col : LANES, { 0 }, 0, 0 };
            add_granule(c, dy, lddy, &at, j, N, r, end, s, total[(col - c0) / LANES]);
        }
    }
    for (int64_t col = c0; col < c1; col += LANES) {
        TapColumns at = tap_columns(c, col, c1);
        for (int64_t l = 0; l < at.lanes; l++)
            for (int i = 0; i < N; i++)
                dw[at.offset[l] + j + i] += total[(col - c0) / LANES][i][l];
    }
}

void k_conv_weight(const Convolution *c, const float *dy, int64_t lddy, int64_t granule, int64_t g0,
                   int64_t g1, float *dw, int add) {
    int64_t width = c->x.columns / c->groups;
    for (int64_t i = g0 * c->taps; !add && i < g1 * c->taps; i++)
        dw[i] = 0;
    for (int64_t col = g0 * width; col < g1 * width; col += TILE) {
        int64_t end = col + TILE < g1 * width ? col + TILE : g1 * width, j = 0;
        for (; j + 4 <= c->taps; j += 4)
            add_tile(c, dy, lddy, granule, j, 4, col, end, dw);
        for (; j < c->taps; j++)
            add_tile(c, dy, lddy, granule, j, 1, col, end, dw);
    }
}
