/* SPDX-License-Identifier: MIT
** dx = dy w for few rows (decoding): rows of w as they lie, WEIGHTS at a time, each added to the
** results, which stay in the first-level cache.  An element is one chain of multiply-adds in order
** of the rows of w, in whole vectors and at the end of a row alike.
*/
#include "kernels.h"
#include "vector.h"

enum { WEIGHTS = 4 };

/* y[k] = (add ? y : 0) + x[0..weights-1] w; 'weights' is a constant where inlined. */
INLINE void gemv_back_add_rows(const int weights, int add, int64_t k, const float *x,
                               const float *w, int64_t ldw, float *y) {
    V factor[WEIGHTS];
    UNROLL for (int i = 0; i < weights; i++) factor[i] = v_splat(x[i]);
    int64_t c = 0;
    for (; c + LANES <= k; c += LANES) {
        V sum = add ? v_load(y + c) : v_zero();
        UNROLL for (int i = 0; i < weights; i++)
            sum = v_fma(factor[i], v_load(w + i * ldw + c), sum);
        v_store(y + c, sum);
    }
    if (c == k) return;
    V sum = add ? v_load_part(y + c, k - c) : v_zero();
    UNROLL for (int i = 0; i < weights; i++)
        sum = v_fma(factor[i], v_load_part(w + i * ldw + c, k - c), sum);
    v_store_part(y + c, sum, k - c);
}

void k_linear_back_few(int64_t n, int64_t m, int64_t k, const float *dy, int64_t lddy,
                       const float *w, int64_t ldw, float *dx, int64_t lddx) {
    int64_t i = 0;
    for (; i + WEIGHTS <= m; i += WEIGHTS)
        for (int64_t t = 0; t < n; t++)
            gemv_back_add_rows(WEIGHTS, i > 0, k, dy + t * lddy + i, w + i * ldw, ldw,
                               dx + t * lddx);
    for (; i < m; i++)
        for (int64_t t = 0; t < n; t++)
            gemv_back_add_rows(1, i > 0, k, dy + t * lddy + i, w + i * ldw, ldw, dx + t * lddx);
}
