/* SPDX-License-Identifier: MIT
** Decoding: a few tokens of a head that has a state.  For each token it goes over the rows of the
** state twice: first it applies the decay and sums what the state gives for k; then it adds u and
** sums what the state gives for q.
*/
#include "recurrence.h"
#include "transpose.h"

int64_t k_steps_floats(int64_t dk, int64_t dv) { return line(dk) + 2 * line(dv); }

/* Columns from e on, 'count' vectors of them, the last of which may be a part. */
INLINE void step_columns(const int count, const Recurrence *a, const float *q, const float *k,
                         const float *v, const float *decay, const float *beta, float *S, int64_t e,
                         float *o) {
    int64_t d = a->dv, last = d - e - (count - 1) * LANES;
    V u[8], sum[8];
    for (int c = 0; c < count; c++)
        u[c] = load_left(v + e + c * LANES, c == count - 1 ? last : LANES), sum[c] = v_zero();
    for (int64_t i = 0; beta && i < a->dk; i++)
        for (int c = 0; c < count; c++) {
            V s = load_left(S + i * d + e + c * LANES, c == count - 1 ? last : LANES);
            u[c] = v_fma(v_splat(-k[i] * decay[i]), s, u[c]);
        }
    for (int c = 0; beta && c < count; c++)
        u[c] *= *beta;
    for (int64_t i = 0; i < a->dk; i++)
        for (int c = 0; c < count; c++) {
            float *at = S + i * d + e + c * LANES;
            int64_t left = c == count - 1 ? last : LANES;
            V s = v_fma(v_splat(k[i]), u[c], load_left(at, left) * decay[i]);
            sum[c] = v_fma(v_splat(q[i]), s, sum[c]);
            store_left(at, left, s);
        }
    for (int c = 0; c < count; c++)
        store_left(o + e + c * LANES, c == count - 1 ? last : LANES, sum[c]);
}

static void find_decays(const Recurrence *a, const HeadRows *h, int64_t row, float *decay) {
    const float *g = a->decay ? a->decay + row * a->lddecay + h->head * decays_of(a) : 0,
                *rate = a->rate ? a->rate + h->head * a->dk : 0;
    for (int64_t i = 0; i < a->dk; i += LANES) {
        V x = !g ? v_zero() : decays_of(a) == 1 ? v_splat(*g) : load_left(g + i, a->dk - i);
        if (rate) x *= load_left(rate + i, a->dk - i);
        v_store(decay + i, v_exp(x));
    }
}

void k_recurrence_steps(const Recurrence *a, const HeadRows *h, float *state, float *scratch) {
    float *decay = take(&scratch, line(a->dk));
    for (int64_t row = h->row; row < h->row + h->count; row++) {
        const float *q = a->q + row * a->ldq + h->group * a->dk,
                    *k = a->k + row * a->ldk + h->group * a->dk,
                    *v = a->v + row * a->ldv + h->head * a->dv,
                    *beta = a->beta ? a->beta + row * a->ldbeta + h->head : 0;
        float *o = a->o + row * a->ldo + h->head * a->dv;
        find_decays(a, h, row, decay);
        int64_t e = 0;
        for (; e + 8 * LANES <= a->dv; e += 8 * LANES)
            step_columns(8, a, q, k, v, decay, beta, state, e, o);
        for (; e + 4 * LANES <= a->dv; e += 4 * LANES)
            step_columns(4, a, q, k, v, decay, beta, state, e, o);
        for (; e < a->dv; e += LANES)
            step_columns(1, a, q, k, v, decay, beta, state, e, o);
    }
}
