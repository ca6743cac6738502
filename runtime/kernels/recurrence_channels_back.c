/* SPDX-License-Identifier: MIT
** A recurrence by channels, backward, as recurrence_lanes_back.c has it, but without a delta rule.
** A task is the heads of one sequence that share q and k, block by block.  A sequence is gone over
** twice: forward for the state after each block of tokens, which lies in the room for states; then
** back, where a block's tokens are gone over once more for what each decays, and by what.
*/
#include "recurrence_channels.h"
#include "transpose.h"

/* == One token ============================================================ */

/* Gradients of what heads share, onto those of the group's heads before. */
INLINE void open_shared(const int n, const ChannelHeads *h, const float *at, V *sum) {
    for (int i = 0; i < n; i++)
        sum[i] = h->opens ? v_zero() : v_load(at + i * LANES);
}

/* P becomes what the decay is the factor of; dS that of the state before; returns dg's lanes. */
INLINE V decay_back(const ChannelBlock *b, const ChannelHeads *h, int64_t l, int i, V P, V dS) {
    const Recurrence *a = b->a;
    int64_t head = h->head + l;
    float *at = b->dS + (head - b->first) * a->dk + i * LANES;
    if (!a->decay) {
        v_store(at, dS);
        return v_zero();
    }
    V dg = dS * P;
    v_store(at, dS * v_load(kept_at(b, b->decay, h, l) + i * LANES));
    if (!a->by_head) v_store(a->ddecay + h->row * a->ldddecay + head * a->dk + i * LANES, dg);
    return dg;
}

INLINE void back_heads(const int n, const ChannelBlock *b, const ChannelHeads *h) {
    const Recurrence *a = b->a;
    const float *at_q = a->q + h->row * a->ldq + h->group * a->dk,
                *at_k = a->k + h->row * a->ldk + h->group * a->dk;
    float *at_dq = a->dq + h->row * a->lddq + h->group * a->dk,
          *at_dk = a->dk_ + h->row * a->lddk + h->group * a->dk;
    V dq[CHANNEL_VECTORS], dk[CHANNEL_VECTORS], du[LANES], dg[LANES];
    open_shared(n, h, at_dq, dq);
    open_shared(n, h, at_dk, dk);
    for (int64_t l = 0; l < LANES; l++)
        du[l] = v_zero(), dg[l] = v_zero();
    for (int64_t l = 0; l < h->count; l++) {
        V u = v_splat(a->v[h->row * a->ldv + h->head + l]),
          dout = v_splat(a->dout[h->row * a->lddout + h->head + l]);
        for (int i = 0; i < n; i++) {
            V k = v_load(at_k + i * LANES), P = v_load(kept_at(b, b->P, h, l) + i * LANES),
              dS = v_load(b->dS + (h->head + l - b->first) * a->dk + i * LANES);
            dS = v_fma(v_load(at_q + i * LANES), dout, dS);
            dq[i] = v_fma(v_fma(k, u, P), dout, dq[i]);
            dk[i] = v_fma(dS, u, dk[i]);
            du[l] = v_fma(dS, k, du[l]);
            dg[l] += decay_back(b, h, l, i, P, dS);
        }
    }
    for (int i = 0; i < n; i++)
        v_store(at_dq + i * LANES, dq[i]), v_store(at_dk + i * LANES, dk[i]);
    store_left(a->dvalue + h->row * a->lddv + h->head, h->count, sums_of(du));
    if (a->decay && a->by_head)
        store_left(a->ddecay + h->row * a->ldddecay + h->head, h->count, sums_of(dg));
}

INLINE void back_sizes(const int n, const ChannelBlock *b, int64_t row, int64_t count) {
    for (int64_t t = count; t-- > 0;)
        for (int64_t head = b->first; head < b->first + b->heads;) {
            ChannelHeads h = heads_from(b, row + t, t, head);
            back_heads(n, b, &h);
            head += h.count;
        }
}

static void back(const ChannelBlock *b, int64_t row, int64_t count) {
    int n = b->a->dk / LANES;
    if (n == 1) back_sizes(1, b, row, count);
    else if (n == 2) back_sizes(2, b, row, count);
    else back_sizes(n, b, row, count);
}

/* == A sequence =========================================================== */

static void clear(const ChannelBlock *b, float *S) {
    for (int64_t i = 0; i < b->heads * b->a->dk; i += LANES)
        v_store(S + i, v_zero());
}

/* Where the room has the state after the block of tokens that begins at 'row': dk rows of heads. */
static float *room_of(const ChannelBlock *b, int64_t row) {
    return b->a->room + row * b->a->ldroom + b->first;
}

static void sweep(const ChannelBlock *b, const HeadRows *h, int64_t tokens) {
    const Recurrence *a = b->a;
    clear(b, b->S);
    for (int64_t t = 0; t + tokens < h->count; t += tokens) {
        k_channels_forward(b, h->row + t, tokens, 0, 0);
        k_rows_out(a->dk, b->heads, b->S, b->heads, room_of(b, h->row + t), a->ldroom, 0);
    }
}

static void block_back(const ChannelBlock *b, const HeadRows *h, int64_t tokens) {
    const Recurrence *a = b->a;
    sweep(b, h, tokens);
    clear(b, b->dS);
    for (int64_t t = (h->count - 1) / tokens * tokens; t >= 0; t -= tokens) {
        int64_t count = min64(tokens, h->count - t);
        if (t)
            k_rows_in(a->dk, b->heads, room_of(b, h->row + t - tokens), a->ldroom, b->S, b->heads);
        else clear(b, b->S);
        k_channels_forward(b, h->row + t, count, 0, 1);
        back(b, h->row + t, count);
    }
}

/* == Tasks ================================================================ */

int64_t k_channels_grad_tasks(const Recurrence *a) { return a->sequences * a->groups; }

void k_channels_grad(const Recurrence *a, int64_t task, float *scratch) {
    int64_t tokens = lane_tokens(a->dk, 1), shared = a->heads / a->groups,
            first = task % a->groups * shared, end = first + shared;
    HeadRows h = k_recurrence_head(a, task / a->groups, first);
    ChannelBlock b = { .a = a };
    int64_t state = CHANNEL_HEADS * a->dk + LANES;
    b.S = take(&scratch, state), b.dS = take(&scratch, state);
    b.P = take(&scratch, tokens * CHANNEL_HEADS * a->dk);
    b.decay = take(&scratch, tokens * CHANNEL_HEADS * a->dk);
    for (b.first = first; h.count && b.first < end; b.first += CHANNEL_HEADS) {
        b.heads = min64(CHANNEL_HEADS, end - b.first);
        block_back(&b, &h, tokens);
    }
}
