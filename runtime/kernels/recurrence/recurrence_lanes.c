/* SPDX-License-Identifier: MIT
** A recurrence by lanes, forward: whole sequences, and a few tokens of those that have a state.  A
** task is a block's heads of one sequence.
*/
#include "recurrence_lanes.h"
#include "transpose.h"

LaneBlock k_lanes_room(const Recurrence *a, int64_t tokens, float **scratch) {
    LaneBlock b = { .a = a, .room = lane_heads(a->dk, a->dv) };
    int64_t part = tokens * b.room;
    b.q = take(scratch, part * a->dk), b.k = take(scratch, part * a->dk);
    b.v = take(scratch, part * a->dv), b.g = take(scratch, part * a->dk);
    b.beta = take(scratch, part);
    b.S = take(scratch, (int64_t)a->dk * a->dv * b.room);
    b.rate = take(scratch, a->dk * b.room);
    b.token = take(scratch, tokens * b.room);
    return b;
}

/* Of a worker that has heads of any smaller sizes, too, forward and backward. */
int64_t k_lanes_floats(int64_t dk, int64_t dv) {
    int64_t most = 0;
    for (int64_t state = 4; state <= LANES_STATE; state *= 2) {
        int64_t k = min64(dk, state), v = min64(dv, state),
                token = 4 * k + 3 * v + state + 2; /* numbers of a head, of each token */
        most = max64(most,
                     lane_heads(state, 1) * (lane_tokens(state, 1) * token + 2 * state + 2 * k));
    }
    return most;
}

void k_lanes_rates(const LaneBlock *b) {
    const Recurrence *a = b->a;
    if (a->rate) k_lanes_in(b, 1, a->dk, a->rate + b->first * a->dk, 0, b->rate);
}

static void load_decays(const LaneBlock *b, int64_t row, int64_t count) {
    const Recurrence *a = b->a;
    int64_t n = decays_of(a), room = b->room;
    k_lanes_in(b, count, n, a->decay + row * a->lddecay + b->first * n, a->lddecay,
               a->rate ? b->token : b->g);
    for (int64_t t = 0; a->rate && t < count; t++)
        for (int64_t c = 0; c < a->dk; c++)
            for (int64_t h = 0; h < b->heads; h += LANES)
                v_store(b->g + (t * a->dk + c) * room + h,
                        v_load(b->token + t * room + h) * v_load(b->rate + c * room + h));
}

void k_lanes_load(LaneBlock *b, int64_t row, int64_t count, int queries) {
    const Recurrence *a = b->a;
    b->row = row, b->count = count;
    if (queries) k_lanes_spread(b, count, a->q + row * a->ldq, a->ldq, b->q);
    k_lanes_spread(b, count, a->k + row * a->ldk, a->ldk, b->k);
    k_lanes_in(b, count, a->dv, a->v + row * a->ldv + b->first * a->dv, a->ldv, b->v);
    if (a->decay) load_decays(b, row, count);
    if (a->beta) k_lanes_in(b, count, 1, a->beta + row * a->ldbeta + b->first, a->ldbeta, b->beta);
}

/* == One vector of heads ================================================== */

/* The state decays; 'keep': before that it is stored, and what it decays by. */
INLINE void decay_state(const int dk, const int dv, const int keep, const LaneBlock *b, int64_t t,
                        int64_t h, V *S) {
    const int channels = b->a->by_head ? 1 : dk;
    int64_t room = b->room;
    V e = v_splat(1.0f);
    for (int s = 0; keep && s < dk * dv; s++)
        v_store(b->states + (t * dk * dv + s) * room + h, S[s]);
    for (int c = 0; b->a->decay && c < dk; c++) {
        if (c < channels) e = v_exp(v_load(b->g + (t * channels + c) * room + h));
        if (keep && c < channels) v_store(b->decay + (t * channels + c) * room + h, e);
        for (int i = 0; i < dv; i++)
            S[c * dv + i] *= e;
    }
}

/* u of a token; 'keep': without beta it is stored. */
INLINE void find_u(const int dk, const int dv, const int keep, const LaneBlock *b, int64_t t,
                   int64_t h, const V *S, V *u) {
    int64_t room = b->room;
    for (int i = 0; i < dv; i++)
        u[i] = v_load(b->v + (t * dv + i) * room + h);
    for (int c = 0; b->a->beta && c < dk; c++) {
        V k = v_load(b->k + (t * dk + c) * room + h);
        for (int i = 0; i < dv; i++)
            u[i] -= S[c * dv + i] * k;
    }
    for (int i = 0; i < dv; i++) {
        if (keep) v_store(b->error + (t * dv + i) * room + h, u[i]);
        if (b->a->beta) u[i] *= v_load(b->beta + t * room + h);
    }
}

INLINE void forward_vector(const int dk, const int dv, const int outputs, const int keep,
                           const LaneBlock *b, int64_t h) {
    int64_t room = b->room;
    V S[LANES_STATE], u[LANES_STATE], o[LANES_STATE];
    for (int s = 0; s < dk * dv; s++)
        S[s] = v_load(b->S + s * room + h);
    for (int64_t t = 0; t < b->count; t++) {
        decay_state(dk, dv, keep, b, t, h, S);
        find_u(dk, dv, keep, b, t, h, S, u);
        for (int i = 0; i < dv; i++)
            o[i] = v_zero();
        for (int c = 0; c < dk; c++) {
            V k = v_load(b->k + (t * dk + c) * room + h),
              q = outputs ? v_load(b->q + (t * dk + c) * room + h) : k;
            for (int i = 0; i < dv; i++) {
                S[c * dv + i] = v_fma(k, u[i], S[c * dv + i]);
                if (outputs) o[i] = v_fma(q, S[c * dv + i], o[i]);
            }
        }
        for (int i = 0; outputs && i < dv; i++)
            v_store(b->v + (t * dv + i) * room + h, o[i]);
    }
    for (int s = 0; s < dk * dv; s++)
        v_store(b->S + s * room + h, S[s]);
}

/* Sizes that are constants have their states in registers. */
INLINE void forward_sizes(const int outputs, const int keep, const LaneBlock *b) {
    int dk = b->a->dk, dv = b->a->dv;
    for (int64_t h = 0; h < b->heads; h += LANES)
        if (dk == 1 && dv == 1) forward_vector(1, 1, outputs, keep, b, h);
        else if (dk == 16 && dv == 1) forward_vector(16, 1, outputs, keep, b, h);
        else forward_vector(dk, dv, outputs, keep, b, h);
}

void k_lanes_forward(const LaneBlock *b, int outputs, int keep) {
    if (outputs) forward_sizes(1, 0, b);
    else if (keep) forward_sizes(0, 1, b);
    else forward_sizes(0, 0, b);
}

/* == Tasks ================================================================ */

static int64_t blocks_of(const Recurrence *a) {
    int64_t heads = lane_heads(a->dk, a->dv);
    return (a->heads + heads - 1) / heads;
}

int64_t k_lanes_tasks(const Recurrence *a) { return a->sequences * blocks_of(a); }

void k_lanes(const Recurrence *a, int64_t task, float *scratch) {
    int64_t sequence = task / blocks_of(a), state = (int64_t)a->dk * a->dv;
    LaneBlock b = k_lanes_room(a, LANES_TOKENS, &scratch);
    b.first = task % blocks_of(a) * b.room;
    b.heads = min64(b.room, a->heads - b.first);
    HeadRows h = k_recurrence_head(a, sequence, 0);
    float *kept = a->states ? state_of(a, sequence, b.first) : 0;
    for (int64_t i = 0; i < state * b.room; i += LANES)
        v_store(b.S + i, v_zero());
    if (kept) k_lanes_in(&b, 1, state, kept, 0, b.S);
    k_lanes_rates(&b);
    for (int64_t t = 0; t < h.count; t += LANES_TOKENS) {
        k_lanes_load(&b, h.row + t, min64(LANES_TOKENS, h.count - t), 1);
        k_lanes_forward(&b, 1, 0);
        k_lanes_out(&b, b.count, a->dv, b.v, a->o + b.row * a->ldo + b.first * a->dv, a->ldo);
    }
    if (kept) k_lanes_out(&b, 1, state, b.S, kept, 0);
}
