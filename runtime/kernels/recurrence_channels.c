/* SPDX-License-Identifier: MIT
** A recurrence by channels, forward: whole sequences, and a few tokens of those that have a state,
** which is worked on where it lies.  A task is a block's heads of one sequence.
*/
#include "recurrence_channels.h"
#include "transpose.h"

int64_t k_channels_floats(int64_t dk) {
    int64_t most = min64(dk, LANES_STATE);
    return CHANNEL_HEADS * most * (2 * lane_tokens(most, 1) + 2) + 4 * LANES;
}

/* == One token ============================================================ */

/* What LANES channels of a head decay by; of all of its channels, if by head. */
INLINE V decay_of(const Recurrence *a, int64_t row, int64_t head, int64_t channel) {
    const float *g = a->decay + row * a->lddecay;
    return v_exp(a->by_head ? v_splat(g[head]) : v_load(g + head * a->dk + channel));
}

INLINE void forward_heads(const int n, const int outputs, const int keep, const ChannelBlock *b,
                          const ChannelHeads *h) {
    const Recurrence *a = b->a;
    const float *at_q = a->q + h->row * a->ldq + h->group * a->dk,
                *at_k = a->k + h->row * a->ldk + h->group * a->dk;
    V k[CHANNEL_VECTORS], q[CHANNEL_VECTORS], o[LANES], e = v_splat(1.0f);
    for (int i = 0; i < n; i++)
        k[i] = v_load(at_k + i * LANES), q[i] = outputs ? v_load(at_q + i * LANES) : k[i];
    for (int64_t l = 0; l < LANES; l++)
        o[l] = v_zero();
    for (int64_t l = 0; l < h->count; l++) {
        int64_t head = h->head + l;
        float *S = b->S + (head - b->first) * a->dk;
        V u = v_splat(a->v[h->row * a->ldv + head]);
        for (int i = 0; i < n; i++) {
            if (a->decay && (i == 0 || !a->by_head)) e = decay_of(a, h->row, head, i * LANES);
            V s = v_load(S + i * LANES) * e;
            if (keep) v_store(kept_at(b, b->P, h, l) + i * LANES, s);
            if (keep && a->decay) v_store(kept_at(b, b->decay, h, l) + i * LANES, e);
            s = v_fma(k[i], u, s);
            v_store(S + i * LANES, s);
            if (outputs) o[l] = v_fma(q[i], s, o[l]);
        }
    }
    if (outputs) store_left(a->o + h->row * a->ldo + h->head, h->count, sums_of(o));
}

INLINE void forward_sizes(const int n, const int outputs, const int keep, const ChannelBlock *b,
                          int64_t row, int64_t count) {
    for (int64_t t = 0; t < count; t++)
        for (int64_t head = b->first; head < b->first + b->heads;) {
            ChannelHeads h = heads_from(b, row + t, t, head);
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
