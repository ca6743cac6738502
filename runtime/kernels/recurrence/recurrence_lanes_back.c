/* SPDX-License-Identifier: MIT
** A recurrence by lanes, backward.  Heads of one sequence that share q and k, of as many groups as
** fill a block, go at once; of a group with more heads, block by block.  A sequence is gone over
** twice: forward for the state after each block of tokens, which lies in the room for states; then
** back, where a block's tokens are gone over once more for the states before each:
**   dS += q do^T    dq = S do    du = dS^T k    dk = dS u
**   with a delta rule, u = beta e, e = v - P^T k: dbeta = du . e, dv = z = beta du, dk -= P z,
**   dS -= k z^T; without: dv = du
**   P = e^g S before the token: dg = sum of dS P, dS becomes e^g dS
*/
#include "recurrence_lanes.h"
#include "transpose.h"

/* == One vector of heads ================================================== */

/* A token's vectors, of LANES heads. */
typedef struct LaneToken {
    V P[LANES_STATE];  /* the state, decayed */
    V dS[LANES_STATE]; /* gradient of the state after the token, then of P, of the one before */
    V u[LANES_STATE], du[LANES_STATE], dout[LANES_STATE];
} LaneToken;

INLINE float *at_part(const LaneBlock *b, float *x, int64_t parts, int64_t t, int64_t part,
                      int64_t h) {
    return x + (t * parts + part) * b->room + h;
}

INLINE void open_token(const int dk, const int dv, const LaneBlock *b, int64_t t, int64_t h,
                       LaneToken *x) {
    const int channels = b->a->by_head ? 1 : dk;
    V e = v_splat(1.0f);
    for (int c = 0; c < dk; c++) {
        if (b->a->decay && c < channels) e = v_load(at_part(b, b->decay, channels, t, c, h));
        for (int i = 0; i < dv; i++)
            x->P[c * dv + i] = v_load(at_part(b, b->states, dk * dv, t, c * dv + i, h)) * e;
    }
    for (int i = 0; i < dv; i++) {
        x->dout[i] = v_load(at_part(b, b->dout, dv, t, i, h));
        x->u[i] = v_load(at_part(b, b->error, dv, t, i, h));
        if (b->a->beta) x->u[i] *= v_load(at_part(b, b->beta, 1, t, 0, h));
        x->du[i] = v_zero();
    }
}

/* dS gains what the output gives, du what the state does; dq and dk take the places of q and k, but
** with a delta rule k stays, and dk is what through_delta finds. */
INLINE void through_state(const int dk, const int dv, const LaneBlock *b, int64_t t, int64_t h,
                          LaneToken *x) {
    for (int c = 0; c < dk; c++) {
        float *at = at_part(b, b->q, dk, t, c, h), *at_k = at_part(b, b->k, dk, t, c, h);
        V q = v_load(at), k = v_load(at_k), dq = v_zero(), stored = v_zero();
        for (int i = 0; i < dv; i++) {
            V S = v_fma(k, x->u[i], x->P[c * dv + i]), d = v_fma(q, x->dout[i], x->dS[c * dv + i]);
            dq = v_fma(S, x->dout[i], dq);
            stored = v_fma(d, x->u[i], stored);
            x->du[i] = v_fma(d, k, x->du[i]);
            x->dS[c * dv + i] = d;
        }
        v_store(at, dq);
        if (!b->a->beta) v_store(at_k, stored);
    }
}

/* dbeta takes beta's place, du becomes z. */
INLINE void through_delta(const int dk, const int dv, const LaneBlock *b, int64_t t, int64_t h,
                          LaneToken *x) {
    float *at_beta = at_part(b, b->beta, 1, t, 0, h);
    V beta = v_load(at_beta), dbeta = v_zero(), z[LANES_STATE];
    for (int i = 0; i < dv; i++) {
        dbeta = v_fma(x->du[i], v_load(at_part(b, b->error, dv, t, i, h)), dbeta);
        z[i] = x->du[i] * beta;
    }
    v_store(at_beta, dbeta);
    for (int c = 0; c < dk; c++) {
        float *at = at_part(b, b->k, dk, t, c, h);
        V k = v_load(at), dk_ = v_zero();
        for (int i = 0; i < dv; i++) {
            V *dS = &x->dS[c * dv + i];
            dk_ += *dS * x->u[i] - x->P[c * dv + i] * z[i];
            *dS -= k * z[i];
        }
        v_store(at, dk_);
    }
    for (int i = 0; i < dv; i++)
        x->du[i] = z[i];
}

/* dg takes g's place; dS becomes that of the state before. */
INLINE void through_decay(const int dk, const int dv, const LaneBlock *b, int64_t t, int64_t h,
                          LaneToken *x) {
    const int by_head = b->a->by_head, channels = by_head ? 1 : dk;
    V e = v_splat(1.0f), sum = v_zero();
    for (int c = 0; c < dk; c++) {
        V dg = v_zero();
        if (c < channels) e = v_load(at_part(b, b->decay, channels, t, c, h));
        for (int i = 0; i < dv; i++) {
            dg = v_fma(x->dS[c * dv + i], x->P[c * dv + i], dg);
            x->dS[c * dv + i] *= e;
        }
        sum += dg;
        if (!by_head) v_store(at_part(b, b->g, dk, t, c, h), dg);
    }
    if (by_head) v_store(at_part(b, b->g, 1, t, 0, h), sum);
}

INLINE void back_vector(const int dk, const int dv, const LaneBlock *b, int64_t h) {
    LaneToken x;
    for (int s = 0; s < dk * dv; s++)
        x.dS[s] = v_load(b->dS + s * b->room + h);
    for (int64_t t = b->count; t-- > 0;) {
        open_token(dk, dv, b, t, h, &x);
        through_state(dk, dv, b, t, h, &x);
        if (b->a->beta) through_delta(dk, dv, b, t, h, &x);
        for (int i = 0; i < dv; i++)
            v_store(at_part(b, b->v, dv, t, i, h), x.du[i]);
        if (b->a->decay) through_decay(dk, dv, b, t, h, &x);
    }
    for (int s = 0; s < dk * dv; s++)
        v_store(b->dS + s * b->room + h, x.dS[s]);
}

static void lanes_back(const LaneBlock *b) {
    int dk = b->a->dk, dv = b->a->dv;
    for (int64_t h = 0; h < b->heads; h += LANES)
        if (dk == 1 && dv == 1) back_vector(1, 1, b, h);
        else if (dk == 16 && dv == 1) back_vector(16, 1, b, h);
        else back_vector(dk, dv, b, h);
}

/* == A sequence =========================================================== */

/* The state after a block of tokens to the room's rows of the block, a number each; or back. */
static void move_state(const LaneBlock *b, int64_t row, int in) {
    const Recurrence *a = b->a;
    int64_t state = (int64_t)a->dk * a->dv;
    for (int64_t s = 0; s < state; s++) {
        float *room = a->room + (row + s) * a->ldroom + b->first, *S = b->S + s * b->room;
        for (int64_t h = 0; h < b->heads; h += LANES)
            if (in) v_store(S + h, load_left(room + h, b->heads - h));
            else store_left(room + h, b->heads - h, v_load(S + h));
    }
}

static void clear(const LaneBlock *b, float *S) {
    for (int64_t i = 0; i < (int64_t)b->a->dk * b->a->dv * b->room; i += LANES)
        v_store(S + i, v_zero());
}

static void lanes_back_sweep(LaneBlock *b, const HeadRows *h, int64_t tokens) {
    clear(b, b->S);
    for (int64_t t = 0; t + tokens < h->count; t += tokens) {
        k_lanes_load(b, h->row + t, tokens, 0);
        k_lanes_forward(b, 0, 0);
        move_state(b, h->row + t, 0);
    }
}

/* Of a token's number of each head, which takes that one's place, and of rates onto what later
** blocks of tokens gave. */
static void rates_back(const LaneBlock *b) {
    int64_t room = b->room, dk = b->a->dk;
    for (int64_t t = 0; t < b->count; t++)
        for (int64_t h = 0; h < b->heads; h += LANES) {
            float *at = b->token + t * room + h;
            V token = v_load(at), sum = v_zero();
            for (int64_t c = 0; c < dk; c++) {
                V dg = v_load(b->g + (t * dk + c) * room + h);
                float *drate = b->drate + c * room + h;
                sum = v_fma(dg, v_load(b->rate + c * room + h), sum);
                v_store(drate, v_fma(dg, token, v_load(drate)));
            }
            v_store(at, sum);
        }
}

static void give_decay(const LaneBlock *b) {
    const Recurrence *a = b->a;
    int64_t n = decays_of(a);
    if (a->rate) rates_back(b);
    k_lanes_out(b, b->count, n, a->rate ? b->token : b->g,
                a->ddecay + b->row * a->ldddecay + b->first * n, a->ldddecay);
}

/* Gradients of the block's rows; of q and k 'add': onto those of the group's heads before. */
static void back_give(const LaneBlock *b, int add) {
    const Recurrence *a = b->a;
    int64_t row = b->row;
    k_lanes_gather(b, b->count, b->q, a->dq + row * a->lddq, a->lddq, add);
    k_lanes_gather(b, b->count, b->k, a->dk_ + row * a->lddk, a->lddk, add);
    k_lanes_out(b, b->count, a->dv, b->v, a->dvalue + row * a->lddv + b->first * a->dv, a->lddv);
    if (a->decay) give_decay(b);
    if (a->beta)
        k_lanes_out(b, b->count, 1, b->beta, a->dbeta + row * a->lddbeta + b->first, a->lddbeta);
}

static void block_back(LaneBlock *b, const HeadRows *h, int64_t tokens, int add) {
    const Recurrence *a = b->a;
    float *drate = a->drate ? drate_of(a, b->sequence, b->first) : 0;
    k_lanes_rates(b);
    lanes_back_sweep(b, h, tokens);
    clear(b, b->dS);
    if (drate) k_lanes_in(b, 1, a->dk, drate, 0, b->drate);
    for (int64_t t = (h->count - 1) / tokens * tokens; t >= 0; t -= tokens) {
        if (t) move_state(b, h->row + t - tokens, 1);
        else clear(b, b->S);
        k_lanes_load(b, h->row + t, min64(tokens, h->count - t), 1);
        k_lanes_in(b, b->count, a->dv, a->dout + b->row * a->lddout + b->first * a->dv, a->lddout,
                   b->dout);
        k_lanes_forward(b, 0, 1);
        lanes_back(b);
        back_give(b, add);
    }
    if (drate) k_lanes_out(b, 1, a->dk, b->drate, drate, 0);
}

static LaneBlock back_open_room(const Recurrence *a, int64_t tokens, float *scratch) {
    LaneBlock b = k_lanes_room(a, tokens, &scratch);
    int64_t part = tokens * b.room, state = (int64_t)a->dk * a->dv;
    b.states = take(&scratch, part * state);
    b.decay = take(&scratch, part * a->dk);
    b.error = take(&scratch, part * a->dv), b.dout = take(&scratch, part * a->dv);
    b.dS = take(&scratch, state * b.room);
    b.drate = take(&scratch, a->dk * b.room);
    return b;
}

void k_lanes_grad(const Recurrence *a, int64_t sequence, int64_t first, int64_t end,
                  float *scratch) {
    int64_t tokens = lane_tokens(a->dk, a->dv);
    HeadRows h = k_recurrence_head(a, sequence, 0);
    LaneBlock b = back_open_room(a, tokens, scratch);
    b.sequence = sequence;
    for (b.first = first; h.count && b.first < end; b.first += b.room) {
        b.heads = min64(b.room, end - b.first);
        block_back(&b, &h, tokens, b.first > first);
    }
}
