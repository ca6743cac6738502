/* SPDX-License-Identifier: MIT
** A recurrence by channels, backward, as recurrence_lanes_back.c has it, but without a delta rule.
** The heads of one sequence that share q and k go block by block.  A sequence is gone over
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

/* Where a token's numbers of these heads begin. */
typedef struct ChannelRows {
    const float *q, *k, *v, *dout, *P, *decay;
    const float *rate, *g; /* rates of the heads' channels, and what they are times; or NULL */
    float *dS;
    float *ddecay, *drate; /* of what is by channel; or NULL */
} ChannelRows;

INLINE ChannelRows rows_of(const ChannelBlock *b, const ChannelHeads *h) {
    const Recurrence *a = b->a;
    int64_t dk = a->dk, row = h->row, shared = h->group * dk;
    return (ChannelRows){
        .q = a->q + row * a->ldq + shared,
        .k = a->k + row * a->ldk + shared,
        .v = a->v + row * a->ldv + h->head,
        .dout = a->dout + row * a->lddout + h->head,
        .P = kept_at(b, b->P, h),
        .decay = kept_at(b, b->decay, h),
        .dS = b->dS + (h->head - b->first) * dk,
        .rate = a->rate ? a->rate + h->head * dk : 0,
        .g = a->rate ? a->decay + row * a->lddecay + h->head : 0,
        .ddecay = a->decay && decays_of(a) > 1 ? a->ddecay + row * a->ldddecay + h->head * dk : 0,
        .drate = a->rate ? drate_of(a, b->sequence, h->head) : 0,
    };
}

/* dq and dk gain what these heads give; lanes of du and dg are theirs. */
INLINE void back_heads(const int n, const ChannelRows *x, int64_t count, V *dq, V *dk, V *du,
                       V *dg) {
    const ChannelRows r = *x;
    V q[CHANNEL_VECTORS], k[CHANNEL_VECTORS];
    for (int i = 0; i < n; i++)
        q[i] = v_load(r.q + i * LANES), k[i] = v_load(r.k + i * LANES);
    for (int64_t l = 0; l < LANES; l++)
        du[l] = v_zero(), dg[l] = v_zero();
    for (int64_t l = 0; l < count; l++) {
        V u = v_splat(r.v[l]), dout = v_splat(r.dout[l]), sum = v_zero(), sum_g = v_zero();
        for (int i = 0; i < n; i++) {
            int64_t at = (l * n + i) * LANES;
            V P = v_load(r.P + at), dS = v_fma(q[i], dout, v_load(r.dS + at));
            dq[i] = v_fma(v_fma(k[i], u, P), dout, dq[i]);
            dk[i] = v_fma(dS, u, dk[i]);
            sum = v_fma(dS, k[i], sum);
            P *= dS;
            if (r.rate) {
                v_store(r.drate + at, v_fma(P, v_splat(r.g[l]), v_load(r.drate + at)));
                P *= v_load(r.rate + at);
            }
            sum_g += P;
            if (r.ddecay) v_store(r.ddecay + at, P);
            v_store(r.dS + at, dS * v_load(r.decay + at));
        }
        du[l] = sum, dg[l] = sum_g;
    }
}

INLINE void back_token(const int n, const ChannelBlock *b, const ChannelHeads *h) {
    const Recurrence *a = b->a;
    ChannelRows r = rows_of(b, h);
    float *at_dq = a->dq + h->row * a->lddq + h->group * a->dk,
          *at_dk = a->dk_ + h->row * a->lddk + h->group * a->dk;
    V dq[CHANNEL_VECTORS], dk[CHANNEL_VECTORS], du[LANES], dg[LANES];
    open_shared(n, h, at_dq, dq);
    open_shared(n, h, at_dk, dk);
    if (r.ddecay && h->t) fetch(r.ddecay - a->ldddecay, h->count * a->dk, 1);
    back_heads(n, &r, h->count, dq, dk, du, dg);
    for (int i = 0; i < n; i++)
        v_store(at_dq + i * LANES, dq[i]), v_store(at_dk + i * LANES, dk[i]);
    store_left(a->dvalue + h->row * a->lddv + h->head, h->count, sums_of(du));
    if (a->decay && !r.ddecay)
        store_left(a->ddecay + h->row * a->ldddecay + h->head, h->count, sums_of(dg));
}

INLINE void back_sizes(const int n, const ChannelBlock *b, int64_t row, int64_t count) {
    for (int64_t t = count; t-- > 0;)
        for (int64_t head = b->first; head < b->first + b->heads;) {
            ChannelHeads h = heads_from(b, row + t, t, head);
            back_token(n, b, &h);
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
