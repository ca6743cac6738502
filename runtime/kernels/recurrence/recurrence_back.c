/* SPDX-License-Identifier: MIT
** Gradients of a chunk's queries, keys and decays: see recurrence_grad.c. */
#include "recurrence_back.h"
#include "transpose.h"

/* == Tokens by tokens ===================================================== */

/* out = rows u^T, or its negative, as far as a token sees: 'diagonal', itself too. */
static void pairs_of(const BackChunk *x, const float *rows, int minus, int diagonal, float *out) {
    const Chunk *c = &x->c;
    for (int64_t b = 0; b < c->blocks; b++) {
        int64_t first = b * BLOCK;
        k_product(&(Product){ .rows = BLOCK,
                              .columns = first + BLOCK,
                              .steps = x->a->dv,
                              .a = rows + first * c->ldv,
                              .row = c->ldv,
                              .step = 1,
                              .b = x->turned_u,
                              .ldb = WIDE,
                              .c = out + first * WIDE,
                              .ldc = WIDE,
                              .minus = minus });
        k_chunk_cut(c, b, diagonal, out);
    }
}

void k_back_pairs(BackChunk *x) {
    const Chunk *c = &x->c;
    k_turn(c->blocks * BLOCK, x->a->dv, c->v, c->ldv, x->turned_u, WIDE);
    pairs_of(x, x->dout, 0, 1, x->dP);
    if (x->a->beta) pairs_of(x, x->z, 1, 0, x->dA);
}

/* == From the state ======================================================= */

/* out[CHUNK][dk] = rows[CHUNK][dv] times the turned state, or its negative */
static void by_state(const BackChunk *x, const float *rows, int minus, float *out) {
    const Chunk *c = &x->c;
    k_product(&(Product){ .rows = c->blocks * BLOCK,
                          .columns = whole(x->a->dk),
                          .steps = x->a->dv,
                          .a = rows,
                          .row = c->ldv,
                          .step = 1,
                          .b = x->turned_state,
                          .ldb = c->ldk,
                          .c = out,
                          .ldc = c->ldk,
                          .minus = minus });
}

/* The chunk's whole decay times what it is the factor of: of the state, and in kr. */
static void find_end(BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    const float *decay = c->before + c->blocks * c->ldk;
    for (int64_t i = 0; i < whole(a->dk); i++) {
        V sum = v_zero();
        for (int64_t e = 0; e < a->dv; e += LANES)
            sum = v_fma(v_load(x->S + i * c->ldv + e), v_load(x->dS + i * c->ldv + e), sum);
        x->end[i] = i < a->dk ? v_sum(sum) * decay[i] : 0;
    }
    for (int64_t e = 0; e < a->dk; e += LANES) {
        V sum = v_load(x->end + e);
        for (int64_t j = 0; j < c->blocks * BLOCK; j++)
            sum = v_fma(v_load(c->kr + j * c->ldk + e), v_load(x->dkr + j * c->ldk + e), sum);
        v_store(x->end + e, sum);
    }
}

void k_back_states(BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    k_turn(a->dk, a->dv, x->S, c->ldv, x->turned_state, c->ldk);
    by_state(x, x->dout, 0, x->dq);
    if (a->beta) by_state(x, x->z, 1, x->dkl);
    k_turn(a->dk, a->dv, x->dS, c->ldv, x->turned_state, c->ldk);
    by_state(x, c->v, 0, x->dkr);
    if (!a->decay) return;
    find_end(x);
    for (int64_t b = 0; b < c->blocks; b++) {
        int64_t at = b * BLOCK * c->ldk;
        k_rows_scale(BLOCK, a->dk, c->before + b * c->ldk, x->dq + at, c->ldk);
        if (a->beta) k_rows_scale(BLOCK, a->dk, c->before + b * c->ldk, x->dkl + at, c->ldk);
        k_rows_scale(BLOCK, a->dk, c->after + b * c->ldk, x->dkr + at, c->ldk);
    }
}

/* == From other tokens ==================================================== */

/* What a block's end has decayed by since its start. */
static const float *decay_of(const Chunk *c, int64_t block) {
    return c->pre + ((block + 1) * BLOCK - 1) * c->ldk;
}

/* out of a block += pairs of it by keys of blocks up to it */
static void rows_of_block(const BackChunk *x, int64_t block, const float *pairs, float *out) {
    const Chunk *c = &x->c;
    int64_t first = block * BLOCK;
    k_product(&(Product){ .rows = BLOCK,
                          .columns = whole(x->a->dk),
                          .steps = first + BLOCK,
                          .a = pairs + first * WIDE,
                          .row = WIDE,
                          .step = 1,
                          .b = c->kr,
                          .ldb = c->ldk,
                          .c = out + first * c->ldk,
                          .ldc = c->ldk,
                          .add = 1 });
}

/* kr is made anew, as far as each block sees it. */
void k_back_rows(BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    for (int64_t b = 0; b < c->blocks; b++) {
        int64_t at = b * BLOCK * c->ldk;
        k_rows_multiply(BLOCK, a->dk, c->k + at, c->ipre + at, c->kr + at, c->ldk);
        rows_of_block(x, b, x->dP, x->dq);
        if (a->beta) rows_of_block(x, b, x->dA, x->dkl);
        if (a->decay) k_rows_scale(b * BLOCK, a->dk, decay_of(c, b), c->kr, c->ldk);
        k_rows_multiply(BLOCK, a->dk, c->k + at, c->suf + at, c->kr + at, c->ldk);
    }
}

/* out of block 'block' (+)= pairs^T of tokens from 'from' to 'end' by their rows */
static void columns_of_block(const BackChunk *x, int64_t block, int64_t from, int64_t end,
                             const float *pairs, const float *rows, float *out, int add) {
    const Chunk *c = &x->c;
    int64_t first = block * BLOCK;
    k_product(&(Product){ .rows = BLOCK,
                          .columns = whole(x->a->dk),
                          .steps = end - from,
                          .a = pairs + from * WIDE + first,
                          .row = 1,
                          .step = WIDE,
                          .b = rows + from * c->ldk,
                          .ldb = c->ldk,
                          .c = out + first * c->ldk,
                          .ldc = c->ldk,
                          .add = add });
}

void k_back_columns(BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    int64_t end = c->blocks * BLOCK;
    for (int64_t b = c->blocks; b-- > 0;) {
        int64_t first = b * BLOCK, after = first + BLOCK, at = after * c->ldk;
        columns_of_block(x, b, after, end, x->dP, c->ql, x->dkr, 1);
        columns_of_block(x, b, first, after, x->dP, c->ql, x->dself, 0);
        if (a->beta) {
            columns_of_block(x, b, after, end, x->dA, c->kl, x->dkr, 1);
            columns_of_block(x, b, first, after, x->dA, c->kl, x->dself, 1);
        }
        if (!a->decay) continue;
        k_rows_scale(end - after, a->dk, decay_of(c, b), c->ql + at, c->ldk);
        if (a->beta) k_rows_scale(end - after, a->dk, decay_of(c, b), c->kl + at, c->ldk);
    }
}

/* == What it comes to ===================================================== */

/* Channels from e on of a block that decay too much for 1 / e^pre, pair by pair. */
static void slow_back(BackChunk *x, int64_t block, int64_t e) {
    const Chunk *c = &x->c;
    int64_t first = block * BLOCK, ld = c->ldk;
    VI slow = v_load(c->ipre + first * ld + e) == 0.0f;
    for (int64_t j = first; j < first + BLOCK; j++) {
        V sum = v_zero(), k = v_load(c->k + j * ld + e), dk = v_load(x->dkr + j * ld + e);
        for (int64_t i = j; i < first + BLOCK; i++) {
            float *dq = x->dq + i * ld + e, *dkl = x->dkl + i * ld + e;
            if (i > j) sum += v_load(c->g + i * ld + e);
            V power = v_select(slow & (sum > -LIMIT), v_exp(sum), v_zero());
            V dP = power * x->dP[i * WIDE + j], dA = v_zero();
            v_store(dq, v_fma(dP, k, v_load(dq)));
            dk = v_fma(dP, v_load(c->q + i * ld + e), dk);
            if (!x->a->beta) continue;
            dA = power * x->dA[i * WIDE + j];
            v_store(dkl, v_fma(dA, k, v_load(dkl)));
            dk = v_fma(dA, v_load(c->k + i * ld + e), dk);
        }
        v_store(x->dkr + j * ld + e, dk);
    }
}

/* One vector of channels: of ql, kl and kr to q and k; then of the decay, from the last token on,
** to g, whose room is free. */
static void close_vector(BackChunk *x, int64_t e) {
    const Chunk *c = &x->c;
    V sum = v_load(x->end + e);
    for (int64_t i = c->blocks * BLOCK; i-- > 0;) {
        int64_t at = i * c->ldk + e;
        V q = v_load(c->q + at), k = v_load(c->k + at), asks = v_zero();
        V dq = v_load(x->dq + at), stored = v_load(x->dkr + at);
        if (x->a->beta) asks = v_load(x->dkl + at);
        sum += v_fma(q, dq, k * (asks - stored));
        v_store(c->g + at, sum);
        v_store(x->dkr + at, asks + stored);
    }
}

static void by_powers(BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    int64_t rows = c->blocks * BLOCK;
    k_rows_multiply(rows, a->dk, x->dq, c->pre, x->dq, c->ldk);
    if (a->beta) k_rows_multiply(rows, a->dk, x->dkl, c->pre, x->dkl, c->ldk);
    for (int64_t i = 0; i < rows * c->ldk; i += c->ldk)
        for (int64_t e = i; e < i + a->dk; e += LANES) {
            V own = v_load(x->dself + e) * v_load(c->ipre + e);
            v_store(x->dkr + e, v_fma(v_load(x->dkr + e), v_load(c->suf + e), own));
        }
}

/* Of a head's numbers, and of its channels' rates onto what later tokens gave. */
static void rates_out(const BackChunk *x, float *to) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    const float *rate = a->rate + x->h.head * a->dk,
                *decay = a->decay + (x->h.row + c->first) * a->lddecay + x->h.head;
    float *drate = drate_of(a, x->sequence, x->h.head);
    for (int64_t i = 0; i < c->count; i++) {
        V sum = v_zero(), g = v_splat(decay[i * a->lddecay]);
        for (int64_t e = 0; e < a->dk; e += LANES) {
            V dg = v_load(c->g + i * c->ldk + e);
            sum = v_fma(dg, load_left(rate + e, a->dk - e), sum);
            store_left(drate + e, a->dk - e, v_fma(dg, g, load_left(drate + e, a->dk - e)));
        }
        to[i * a->ldddecay + x->h.head] = v_sum(sum);
    }
}

/* Gradients of decays lie in g. */
static void decays_out(const BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    float *to = a->ddecay + (x->h.row + c->first) * a->ldddecay;
    if (a->rate) rates_out(x, to);
    else if (!a->by_head)
        k_rows_out(c->count, a->dk, c->g, c->ldk, to + x->h.head * a->dk, a->ldddecay, 0);
    for (int64_t i = 0; a->by_head && i < c->count; i++) {
        V sum = v_zero();
        for (int64_t e = 0; e < a->dk; e += LANES)
            sum += v_load(c->g + i * c->ldk + e);
        to[i * a->ldddecay + x->h.head] = v_sum(sum);
    }
}

void k_back_close(BackChunk *x, int add) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    int64_t row = x->h.row + c->first;
    by_powers(x);
    for (int64_t b = 0; b < c->blocks; b++)
        for (int64_t e = 0; c->slow[b] && e < a->dk; e += LANES)
            slow_back(x, b, e);
    for (int64_t e = 0; e < a->dk; e += LANES)
        close_vector(x, e);
    k_rows_out(c->count, a->dk, x->dq, c->ldk, a->dq + row * a->lddq + x->h.group * a->dk, a->lddq,
               add);
    k_rows_out(c->count, a->dk, x->dkr, c->ldk, a->dk_ + row * a->lddk + x->h.group * a->dk,
               a->lddk, add);
    if (a->decay) decays_out(x);
}
