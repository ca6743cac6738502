/* SPDX-License-Identifier: MIT
** A recurrence by channels, forward: whole sequences, and a few tokens of those that have a state,
** which is worked on where it lies.  A task is a block's heads of one sequence.
*/
#include "recurrence_channels.h"
#include "transpose.h"

int64_t k_channels_floats(int64_t dk) {
    int64_t most = min64(dk, LANES_STATE);
    return CHANNEL_HEADS * most * (2 * lane_tokens(most, 1) + 2) + 2 * 16; /* as take() rounds */
}

/* == Some heads =========================================================== */

/* What a token's states decay by: n vectors of each of m heads; 'rate' theirs. */
INLINE void find_decays(const int n, const int m, const Recurrence *a, const ChannelHeads *h,
                        int64_t row, const V *rate, V *e) {
    const float *g = a->decay + row * a->lddecay + h->head * decays_of(a);
    for (int i = 0; i < m * n; i++)
        e[i] = a->rate   ? v_splat(g[i / n]) * rate[i]
            : a->by_head ? v_splat(g[i / n])
                         : v_load(g + i * LANES);
    v_exp_each(m * n, e);
}

/* The decays of the same heads some tokens on. */
INLINE void fetch_decays(const int n, const int m, const Recurrence *a, const ChannelHeads *h,
                         int64_t row) {
    if (a->decay && decays_of(a) > 1 && row + CHANNEL_AHEAD < h->row + h->count)
        fetch(a->decay + (row + CHANNEL_AHEAD) * a->lddecay + h->head * a->dk, m * n * LANES, 0);
}

/* S becomes that after the token, sum [m] what it gives for q; P and decay: NULL, or where what it
** decayed to and by are kept. */
INLINE void forward_token(const int n, const int m, const int outputs, const Recurrence *a,
                          const ChannelHeads *h, int64_t row, const V *e, V *S, V *sum, float *P,
                          float *decay) {
    const float *q = a->q + row * a->ldq + h->group * a->dk,
                *k = a->k + row * a->ldk + h->group * a->dk, *v = a->v + row * a->ldv + h->head;
    for (int l = 0; l < m; l++) {
        V u = v_splat(v[l]);
        sum[l] = v_zero();
        for (int i = 0; i < n; i++) {
            int at = l * n + i;
            V s = S[at] * e[at];
            if (P) v_store(P + at * LANES, s), v_store(decay + at * LANES, e[at]);
            S[at] = v_fma(v_load(k + i * LANES), u, s);
            if (outputs) sum[l] = v_fma(v_load(q + i * LANES), S[at], sum[l]);
        }
    }
}

INLINE void forward_heads(const int n, const int m, const int outputs, const int keep,
                          const ChannelBlock *b, const ChannelHeads *h) {
    const Recurrence *a = b->a;
    float *states = b->S + (h->head - b->first) * a->dk;
    V S[CHANNEL_MOST], rate[CHANNEL_MOST], e[CHANNEL_MOST], sum[CHANNEL_FEW];
    for (int i = 0; i < m * n; i++)
        S[i] = v_load(states + i * LANES), e[i] = v_splat(1.0f);
    for (int i = 0; a->rate && i < m * n; i++)
        rate[i] = v_load(a->rate + h->head * a->dk + i * LANES);
    for (int l = m; l < CHANNEL_FEW; l++)
        sum[l] = v_zero();
    for (int64_t t = 0; t < h->count; t++) {
        int64_t row = h->row + t;
        fetch_decays(n, m, a, h, row);
        if (a->decay) find_decays(n, m, a, h, row, rate, e);
        forward_token(n, m, outputs, a, h, row, e, S, sum, keep ? kept_at(b, b->P, h, t) : 0,
                      keep ? kept_at(b, b->decay, h, t) : 0);
        if (outputs) store_left(a->o + row * a->ldo + h->head, m, few_sums_of(sum));
    }
    for (int i = 0; i < m * n; i++)
        v_store(states + i * LANES, S[i]);
}

INLINE void forward_sizes(const int n, const int m, const int outputs, const int keep,
                          const ChannelBlock *b, int64_t row, int64_t count){
#define FORWARD(m_, h) forward_heads(n, m_, outputs, keep, b, h)
    EACH_HEADS(b, row, count, m, FORWARD)
#undef FORWARD
}

/* Sizes that are constants have what heads share in registers. */
INLINE void forward_vectors(const int outputs, const int keep, const ChannelBlock *b, int64_t row,
                            int64_t count) {
    int n = b->a->dk / LANES;
    if (n == 1) forward_sizes(1, CHANNEL_FEW, outputs, keep, b, row, count);
    else if (n == 2) forward_sizes(2, CHANNEL_FEW / 2, outputs, keep, b, row, count);
    else forward_sizes(n, 1, outputs, keep, b, row, count);
}

void k_channels_forward(const ChannelBlock *b, int64_t row, int64_t count, int outputs, int keep) {
    if (outputs) forward_vectors(1, 0, b, row, count);
    else if (keep) forward_vectors(0, 1, b, row, count);
    else forward_vectors(0, 0, b, row, count);
}

/* == Tasks ================================================================ */

static int64_t blocks_of(const Recurrence *a) {
    return (a->heads + CHANNEL_HEADS - 1) / CHANNEL_HEADS;
}

int64_t k_channels_tasks(const Recurrence *a) { return a->sequences * blocks_of(a); }

void k_channels(const Recurrence *a, int64_t task, float *scratch) {
    int64_t sequence = task / blocks_of(a);
    ChannelBlock b = { .a = a, .first = task % blocks_of(a) * CHANNEL_HEADS };
    b.heads = min64(CHANNEL_HEADS, a->heads - b.first);
    b.S = a->states ? state_of(a, sequence, b.first) : scratch;
    for (int64_t i = 0; !a->states && i < b.heads * a->dk; i += LANES)
        v_store(b.S + i, v_zero());
    HeadRows h = k_recurrence_head(a, sequence, 0);
    k_channels_forward(&b, h.row, h.count, 1, 0);
}
