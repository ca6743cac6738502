/* SPDX-License-Identifier: MIT
** Cross entropy over rows of logits.  A row is read once, block by block: first a block's largest
** value, then its exponentials while the block is in the first-level cache.  The sum so far is
** rescaled when the largest value rises.
*/
#include "kernels.h"
#include "vmath.h"

enum { ONCE = 1024 }; /* logits of a block */

/* x[i..], -inf after its n floats */
INLINE V load_logits(const float *x, int64_t i, int64_t n) {
    if (i + LANES <= n) return v_load(x + i);
    if (i >= n) return v_splat(-__builtin_inff());
    return v_keep(v_load_part(x + i, n - i), n - i, -__builtin_inff());
}

static float block_largest(const float *x, int64_t n) {
    V m[4];
    for (int c = 0; c < 4; c++)
        m[c] = v_splat(-__builtin_inff());
    for (int64_t i = 0; i < n; i += 4 * LANES)
        for (int c = 0; c < 4; c++)
            m[c] = v_max(m[c], load_logits(x, i + c * LANES, n));
    return v_largest(v_max(v_max(m[0], m[1]), v_max(m[2], m[3])));
}

static float block_sum(const float *x, int64_t n, float largest) {
    V sum[4];
    for (int c = 0; c < 4; c++)
        sum[c] = v_zero();
    for (int64_t i = 0; i < n; i += 4 * LANES)
        for (int c = 0; c < 4; c++)
            sum[c] += v_exp_below(load_logits(x, i + c * LANES, n) - largest);
    return v_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* log of the sum of exp over one row */
static float log_sum_exp(const float *x, int64_t n) {
    float largest = -__builtin_inff(), sum = 0;
    for (int64_t at = 0; at < n; at += ONCE) {
        int64_t count = n - at < ONCE ? n - at : ONCE;
        float m = block_largest(x + at, count);
        m = m > largest ? m : largest;
        float base = m > -__builtin_inff() ? m : 0; /* -inf only so far: its terms are 0, not NaN */
        sum = s_fma(sum, v_exp_below(v_splat(largest - base))[0], block_sum(x + at, count, base));
        largest = m;
    }
    return largest + v_log(v_splat(sum))[0];
}

void k_cross_entropy(int64_t n, int64_t v, const float *logits, int64_t ld, const int32_t *ids,
                     float *nll, int64_t ldnll, float *lse, int64_t ldlse) {
    for (int64_t t = 0; t < n; t++) {
        const float *x = logits + t * ld;
        float total = log_sum_exp(x, v);
        if (nll) nll[t * ldnll] = total - x[ids[t]];
        if (lse) lse[t * ldlse] = total;
    }
}

void k_cross_entropy_grad(int64_t n, int64_t v, const float *logits, int64_t ld, const float *lse,
                          int64_t ldlse, const int32_t *ids, const float *dy, int64_t lddy,
                          float *dlogits, int64_t ldd) {
    for (int64_t t = 0; t < n; t++) {
        const float *x = logits + t * ld;
        float *dx = dlogits + t * ldd, total = lse[t * ldlse], scale = dy[t * lddy];
        int64_t i = 0;
        for (; i + LANES <= v; i += LANES)
            v_store(dx + i, v_exp_below(v_load(x + i) - total) * scale);
        if (i < v)
            v_store_part(dx + i, v_exp_below(v_load_part(x + i, v - i) - total) * scale, v - i);
        dx[ids[t]] -= scale;
    }
}
