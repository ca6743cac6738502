/* SPDX-License-Identifier: MIT
** Operations of Muon on a matrix besides products: momentum, sums of two matrices, a transpose,
** the step.  All but the transpose are elementwise: a range may be split anywhere without changing
** bits.
*/
#include "kernels.h"
#include "transpose.h"

INLINE V momentum_of(V rest, V g, V m) { return v_fma(rest, g - m, m); }

/* g moved to m by the share of it that m keeps, as torch's lerp computes it beyond a half. */
INLINE V nesterov_of(V rest, V g, V m) { return v_fma(-rest, m - g, m); }

void k_muon_momentum(int64_t n, const float *g, float grad_scale, float momentum, int nesterov,
                     float *m, float *direction) {
    V scale = v_splat(grad_scale), rest = v_splat(1.0f - momentum);
    for (int64_t i = 0; i < n; i += LANES) {
        V x = scale * load_left(g + i, n - i);
        V mean = momentum_of(rest, x, load_left(m + i, n - i));
        store_left(m + i, n - i, mean);
        store_left(direction + i, n - i, nesterov ? nesterov_of(rest, x, mean) : mean);
    }
}

void k_muon_mix(int64_t n, float a, const float *x, float b, float *y) {
    V by_x = v_splat(a), by_y = v_splat(b);
    for (int64_t i = 0; i < n; i += LANES) {
        V product = by_y * load_left(y + i, n - i);
        store_left(y + i, n - i, v_fma(by_x, load_left(x + i, n - i), product));
    }
}

void k_muon_step(int64_t n, float *p, const float *x, float keep, float rate) {
    V kept = v_splat(keep), by = v_splat(-rate);
    for (int64_t i = 0; i < n; i += LANES) {
        V old = kept * load_left(p + i, n - i);
        store_left(p + i, n - i, v_fma(by, load_left(x + i, n - i), old));
    }
}

void k_transpose(int64_t first, int64_t count, int64_t rows, int64_t columns, const float *x,
                 float *y) {
    enum { TILE = 16 };
    for (int64_t j = first; j < first + count; j += TILE)
        for (int64_t i = 0; i < rows; i += TILE)
            for (int64_t c = j; c < j + TILE && c < first + count; c++)
                for (int64_t r = i; r < i + TILE && r < rows; r++)
                    y[c * rows + r] = x[r * columns + c];
}
