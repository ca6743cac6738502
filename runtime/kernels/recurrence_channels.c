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

/* == One token ============================================================ */

INLINE void forward_heads(const int n, const int outputs, const int keep, const ChannelBlock *b,
                          const ChannelHeads *h) {
    const Recurrence *a = b->a;
    const int dk = n * LANES, decays = a->decay != 0, by_head = a->by_head, rates = a->rate != 0;
    const int64_t count = h->count;
    const float *at_q = a->q + h->row * a->ldq + h->group * dk,
                *at_k = a->k + h->row * a->ldk + h->group * dk,
                *v = a->v + h->row * a->ldv + h->head,
                *g = decays ? a->decay + h->row * a->lddecay + h->head * decays_of(a) : v,
                *rate = rates ? a->rate + h->head * dk : v;
    float *S = b->S + (h->head - b->first) * dk, *P = keep ? kept_at(b, b->P, h) : 0,
          *decay = keep ? kept_at(b, b->decay, h) : 0;
    V k[CHANNEL_VECTORS], q[CHANNEL_VECTORS], o[LANES], e = v_splat(1.0f);
    for (int i = 0; i < n; i++)
        k[i] = v_load(at_k + i * LANES), q[i] = outputs ? v_load(at_q + i * LANES) : k[i];
    for (int64_t l = count; l < LANES; l++)
        o[l] = v_zero();
    for (int64_t l = 0; l < count; l++) {
        V u = v_splat(v[l]), sum = v_zero();
        for (int i = 0; i < n; i++) {
            int64_t at = l * dk + i * LANES;
            if (decays && by_head && i == 0) e = v_exp(v_splat(g[l]));
            if (decays && !by_head)
                e = v_exp(rates ? v_splat(g[l]) * v_load(rate + at) : v_load(g + at));
            V s = v_load(S + at) * e;
            if (keep) v_store(P + at, s), v_store(decay + at, e);
            s = v_fma(k[i], u, s);
            v_store(S + at, s);
            if (outputs) sum = v_fma(q[i], s, sum);
        }
        o[l] = sum;
    }
    if (outputs) store_left(a->o + h->row * a->ldo + h->head, count, sums_of(o));
}

/* The decays of the same heads some tokens on. */
INLINE void fetch_decays(const Recurrence *a, const ChannelHeads *h) {
    int64_t n = decays_of(a);
    if (a->decay && n > 1)
        fetch(a->decay + (h->row + CHANNEL_AHEAD) * a->lddecay + h->head * n, h->count * n, 0);
}

INLINE void forward_sizes(const int n, const int outputs, const int keep, const ChannelBlock *b,
                          int64_t row, int64_t count) {
    for (int64_t t = 0; t < count; t++)
        for (int64_t head = b->first; head < b->first + b->heads;) {
            ChannelHeads h = heads_from(b, row + t, t, head);
            if (t + CHANNEL_AHEAD < count) fetch_decays(b->a, &h);
            forward_heads(n, outputs, keep, b, &h);
            head += h.count;
        }
}

/* Sizes that are constants have what heads share in registers. */
INLINE void forward_vectors(const int outputs, const int keep, const ChannelBlock *b, int64_t row,
                            int64_t count) {
    int n = b->a->dk / LANES;
    if (n == 1) forward_sizes(1, outputs, keep, b, row, count);
    else if (n == 2) forward_sizes(2, outputs, keep, b, row, count);
    else forward_sizes(n, outputs, keep, b, row, count);
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
