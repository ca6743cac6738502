/* SPDX-License-Identifier: MIT
** A recurrence by channels, backward, as recurrence_lanes_back.c has it, but without a delta rule.
** The heads of one sequence that share q and k go block by block.  A sequence is gone over
** twice: forward for the state after each block of tokens, which lies in the room for states; then
** back, where a block's tokens are gone over once more for what each decays, and by what.
*/
#include "recurrence_channels.h"
#include "transpose.h"

/* == Some heads =========================================================== */

/* Of m heads of n vectors, which share: gradients of states after a token, of rates, and these. */
typedef struct ChannelBack {
    V dS[CHANNEL_MOST], drate[CHANNEL_MOST], rate[CHANNEL_MOST];
} ChannelBack;

INLINE void move_heads(const int n, const int m, const ChannelBlock *b, const ChannelHeads *h,
                       ChannelBack *x, const int out) {
    const Recurrence *a = b->a;
    float *dS = b->dS + (h->head - b->first) * a->dk,
          *drate = a->rate ? drate_of(a, b->sequence, h->head) : dS;
    for (int i = 0; i < m * n; i++)
        if (out) v_store(dS + i * LANES, x->dS[i]);
        else x->dS[i] = v_load(dS + i * LANES);
    for (int i = 0; a->rate && i < m * n; i++)
        if (out) v_store(drate + i * LANES, x->drate[i]);
        else {
            x->drate[i] = v_load(drate + i * LANES);
            x->rate[i] = v_load(a->rate + h->head * a->dk + i * LANES);
        }
}

/* Gradients of what heads share, onto those of the group's heads before. */
INLINE void open_shared(const int n, const ChannelHeads *h, const float *at, V *sum) {
    for (int i = 0; i < n; i++)
        sum[i] = h->opens ? v_zero() : v_load(at + i * LANES);
}

/* Of a decay P = e^g S by channel: dg, a vector of a head.  Adds up what is one of the head. */
INLINE V decay_back(const Recurrence *a, ChannelBack *x, int at, float g, V dg) {
    if (!a->rate) return dg;
    x->drate[at] = v_fma(dg, v_splat(g), x->drate[at]);
    return dg * x->rate[at];
}

/* dq and dk [n] gain what these heads give; du and dg [m] are theirs. */
INLINE void token_heads(const int n, const int m, const ChannelBlock *b, const ChannelHeads *h,
                        int64_t t, ChannelBack *x, V *dq, V *dk, V *du, V *dg) {
    const Recurrence *a = b->a;
    int64_t row = h->row + t;
    const float *q = a->q + row * a->ldq + h->group * a->dk,
                *k = a->k + row * a->ldk + h->group * a->dk, *v = a->v + row * a->ldv + h->head,
                *dout = a->dout + row * a->lddout + h->head, *kept = kept_at(b, b->P, h, t),
                *decay = kept_at(b, b->decay, h, t),
                *g = a->rate ? a->decay + row * a->lddecay + h->head : v;
    float *ddecay = a->decay && decays_of(a) > 1 ? a->ddecay + row * a->ldddecay + h->head * a->dk
                                                 : 0;
    for (int l = 0; l < m; l++) {
        V u = v_splat(v[l]), given = v_splat(dout[l]);
        du[l] = v_zero(), dg[l] = v_zero();
        for (int i = 0; i < n; i++) {
            int at = l * n + i;
            V P = v_load(kept + at * LANES), K = v_load(k + i * LANES),
              dS = v_fma(v_load(q + i * LANES), given, x->dS[at]);
            dq[i] = v_fma(v_fma(K, u, P), given, dq[i]);
            dk[i] = v_fma(dS, u, dk[i]);
            du[l] = v_fma(dS, K, du[l]);
            P *= dS;
            if (ddecay) v_store(ddecay + at * LANES, P);
            dg[l] += decay_back(a, x, at, g[l], P);
            x->dS[at] = dS * v_load(decay + at * LANES);
        }
    }
}

INLINE void back_heads(const int n, const int m, const ChannelBlock *b, const ChannelHeads *h) {
    const Recurrence *a = b->a;
    ChannelBack x;
    V dq[CHANNEL_VECTORS], dk[CHANNEL_VECTORS], du[CHANNEL_FEW], dg[CHANNEL_FEW];
    for (int l = m; l < CHANNEL_FEW; l++)
        du[l] = dg[l] = v_zero();
    move_heads(n, m, b, h, &x, 0);
    for (int64_t t = h->count; t-- > 0;) {
        int64_t row = h->row + t;
        float *at_dq = a->dq + row * a->lddq + h->group * a->dk,
              *at_dk = a->dk_ + row * a->lddk + h->group * a->dk;
        open_shared(n, h, at_dq, dq);
        open_shared(n, h, at_dk, dk);
        if (t && a->decay && decays_of(a) > 1)
            fetch(a->ddecay + (row - 1) * a->ldddecay + h->head * a->dk, m * n * LANES, 1);
        token_heads(n, m, b, h, t, &x, dq, dk, du, dg);
        for (int i = 0; i < n; i++)
            v_store(at_dq + i * LANES, dq[i]), v_store(at_dk + i * LANES, dk[i]);
        store_left(a->dvalue + row * a->lddv + h->head, m, few_sums_of(du));
        if (a->decay && decays_of(a) == 1)
            store_left(a->ddecay + row * a->ldddecay + h->head, m, few_sums_of(dg));
    }
    move_heads(n, m, b, h, &x, 1);
}

INLINE void back_sizes(const int n, const int m, const ChannelBlock *b, int64_t row,
                       int64_t count) {
#define BACK(m_, h) back_heads(n, m_, b, h)
    EACH_HEADS(b, row, count, m, BACK)
#undef BACK
}

static void channels_back(const ChannelBlock *b, int64_t row, int64_t count) {
    int n = b->a->dk / LANES;
    if (n == 1) back_sizes(1, CHANNEL_FEW, b, row, count);
    else if (n == 2) back_sizes(2, CHANNEL_FEW / 2, b, row, count);
    else back_sizes(n, 1, b, row, count);
}

/* == A sequence =========================================================== */

static void clear(const ChannelBlock *b, float *S) {
    for (int64_t i = 0; i < b->heads * b->a->dk; i += LANES)
        v_store(S + i, v_zero());
}

/* Where the room has the state after the block of tokens that begins at 'row': dk rows of heads. */
static float *back_room_of(const ChannelBlock *b, int64_t row) {
    return b->a->room + row * b->a->ldroom + b->first;
}

static void back_sweep(const ChannelBlock *b, const HeadRows *h, int64_t tokens) {
    const Recurrence *a = b->a;
    clear(b, b->S);
    for (int64_t t = 0; t + tokens < h->count; t += tokens) {
        k_channels_forward(b, h->row + t, tokens, 0, 0);
        k_rows_out(a->dk, b->heads, b->S, b->heads, back_room_of(b, h->row + t), a->ldroom, 0);
    }
}

static void block_back(const ChannelBlock *b, const HeadRows *h, int64_t tokens) {
    const Recurrence *a = b->a;
    back_sweep(b, h, tokens);
    clear(b, b->dS);
    for (int64_t t = (h->count - 1) / tokens * tokens; t >= 0; t -= tokens) {
        int64_t count = min64(tokens, h->count - t);
        if (t)
            k_rows_in(a->dk, b->heads, back_room_of(b, h->row + t - tokens), a->ldroom, b->S,
                      b->heads);
        else clear(b, b->S);
        k_channels_forward(b, h->row + t, count, 0, 1);
        channels_back(b, h->row + t, count);
    }
}

void k_channels_grad(const Recurrence *a, int64_t sequence, int64_t first, int64_t end,
                     float *scratch) {
    int64_t tokens = lane_tokens(a->dk, 1), state = CHANNEL_HEADS * a->dk + LANES;
    HeadRows h = k_recurrence_head(a, sequence, first);
    ChannelBlock b = { .a = a, .sequence = sequence };
    b.S = take(&scratch, state), b.dS = take(&scratch, state);
    b.P = take(&scratch, tokens * CHANNEL_HEADS * a->dk);
    b.decay = take(&scratch, tokens * CHANNEL_HEADS * a->dk);
    for (b.first = first; h.count && b.first < end; b.first += CHANNEL_HEADS) {
        b.heads = min64(CHANNEL_HEADS, end - b.first);
        block_back(&b, &h, tokens);
    }
}
