/* SPDX-License-Identifier: MIT
** A chunk of a head: the contributions of its tokens, the decays between them, and their products
** with each other and with the state (recurrence.h).
*/
#include "recurrence.h"
#include "transpose.h"

HeadRows k_recurrence_head(const Recurrence *a, int64_t sequence, int64_t head) {
    int64_t row = a->first ? a->first[sequence] : sequence * a->time;
    int64_t count = a->first ? a->first[sequence + 1] - row : a->time;
    return (HeadRows){ row, count, head, head / (a->heads / a->groups) };
}

/* == Room ================================================================= */

int64_t k_chunk_floats(int64_t dk, int64_t dv) {
    return CHUNK * (10 * line(dk) + line(dv)) + (2 * BLOCKS + 1 + BLOCK) * line(dk)
        + line(dk) * WIDE + 2 * CHUNK * WIDE + CHUNK;
}

static void chunk_fill(int64_t n, float value, float *x) {
    for (int64_t i = 0; i < n; i += LANES)
        v_store(x + i, v_splat(value));
}

Chunk k_chunk_room(const Recurrence *a, float **scratch) {
    Chunk c = { .ldk = line(a->dk), .ldv = line(a->dv) };
    int64_t keys = CHUNK * c.ldk;
    float **of_keys[] = { &c.q, &c.k, &c.g, &c.pre, &c.suf, &c.ipre, &c.ql, &c.kl, &c.kr };
    for (size_t i = 0; i < sizeof of_keys / sizeof *of_keys; i++)
        *of_keys[i] = take(scratch, keys);
    c.v = take(scratch, CHUNK * c.ldv);
    c.beta = take(scratch, CHUNK);
    c.before = take(scratch, (BLOCKS + 1) * c.ldk);
    c.after = take(scratch, BLOCKS * c.ldk);
    c.spare = take(scratch, BLOCK * c.ldk);
    c.turned = take(scratch, c.ldk * WIDE);
    c.P = take(scratch, CHUNK * WIDE);
    c.A = take(scratch, CHUNK * WIDE);
    chunk_fill(c.ldk * WIDE, 0, c.turned);
    float *const ones[] = { c.pre, c.suf, c.ipre };
    for (int i = 0; !a->decay && i < 3; i++)
        chunk_fill(keys, 1, ones[i]);
    return c;
}

/* == Decays =============================================================== */

/* Powers below LEAST are 0. */
INLINE V power(V exponent) {
    V x = v_exp(exponent);
    return v_select(x < LEAST, v_zero(), x);
}

INLINE V times(V a, V b) {
    V x = a * b;
    return v_select(x < LEAST, v_zero(), x);
}

/* One vector of a block's channels. */
static void decay_vector(Chunk *c, int64_t block, int64_t e) {
    int64_t at = block * BLOCK * c->ldk + e;
    V sum = v_zero();
    for (int64_t i = 0; i < BLOCK; i++) {
        sum += v_load(c->g + at + i * c->ldk);
        v_store(c->pre + at + i * c->ldk, power(sum));
    }
    VI much = sum < -LIMIT;
    c->slow[block] |= v_largest(-sum) > LIMIT;
    sum = v_zero();
    for (int64_t i = BLOCK; i-- > 0;) {
        V pre = v_load(c->pre + at + i * c->ldk);
        v_store(c->suf + at + i * c->ldk, power(sum));
        v_store(c->ipre + at + i * c->ldk, v_select(much, v_zero(), 1.0f / pre));
        sum += v_load(c->g + at + i * c->ldk);
    }
}

/* Rows whose first number is that of all channels. */
static void spread(int64_t rows, int64_t d, float *x, int64_t ld) {
    for (int64_t i = 0; i < rows; i++) {
        V first = v_splat(x[i * ld]);
        for (int64_t e = 0; e < d; e += LANES)
            v_store(x + i * ld + e, first);
    }
}

/* The decay of all blocks before one, and of all after it. */
static void decay_blocks(const Recurrence *a, Chunk *c) {
    for (int64_t e = 0; e < a->dk; e += LANES) {
        V x = v_splat(1.0f);
        for (int64_t b = 0; b <= c->blocks; b++) {
            v_store(c->before + b * c->ldk + e, x);
            if (b < c->blocks) x = times(x, v_load(c->pre + ((b + 1) * BLOCK - 1) * c->ldk + e));
        }
        x = v_splat(1.0f);
        for (int64_t b = c->blocks; b-- > 0;) {
            v_store(c->after + b * c->ldk + e, x);
            x = times(x, v_load(c->pre + ((b + 1) * BLOCK - 1) * c->ldk + e));
        }
    }
}

static void decays(const Recurrence *a, Chunk *c) {
    int64_t rows = c->blocks * BLOCK, d = a->by_head ? 1 : a->dk;
    float *const power[] = { c->g, c->pre, c->suf, c->ipre };
    for (int64_t b = 0; b < BLOCKS; b++)
        c->slow[b] = 0;
    for (int64_t b = 0; a->decay && b < c->blocks; b++)
        for (int64_t e = 0; e < d; e += LANES)
            decay_vector(c, b, e);
    for (int i = 0; a->decay && a->by_head && i < 4; i++)
        spread(rows, a->dk, power[i], c->ldk);
    decay_blocks(a, c);
}

/* == Reading ============================================================== */

/* 'count' rows, zeros up to the end of the last block. */
void k_chunk_rows(const Chunk *c, int64_t d, const float *from, int64_t ld, float *to,
                  int64_t ldto) {
    k_rows_in(c->count, d, from, ld, to, ldto);
    for (int64_t t = c->count; t < c->blocks * BLOCK; t++)
        for (int64_t e = 0; e < d; e += LANES)
            v_store(to + t * ldto + e, v_zero());
}

/* A head's number of each token, in the first of its row, times the rates of its channels. */
static void by_rates(const float *rate, int64_t d, const Chunk *c) {
    for (int64_t i = 0; i < c->blocks * BLOCK; i++) {
        V x = v_splat(c->g[i * c->ldk]);
        for (int64_t e = 0; e < d; e += LANES)
            v_store(c->g + i * c->ldk + e, x * load_left(rate + e, d - e));
    }
}

static void load_decays(const Recurrence *a, const HeadRows *h, int64_t row, const Chunk *c) {
    int64_t g = decays_of(a);
    if (!a->decay) return;
    k_chunk_rows(c, g, a->decay + row * a->lddecay + h->head * g, a->lddecay, c->g, c->ldk);
    if (a->rate) by_rates(a->rate + h->head * a->dk, a->dk, c);
}

void k_chunk_load(const Recurrence *a, const HeadRows *h, int64_t first, Chunk *c) {
    int64_t row = h->row + first;
    c->first = first;
    c->count = min64(CHUNK, h->count - first);
    c->blocks = (c->count + BLOCK - 1) / BLOCK;
    k_chunk_rows(c, a->dk, a->q + row * a->ldq + h->group * a->dk, a->ldq, c->q, c->ldk);
    k_chunk_rows(c, a->dk, a->k + row * a->ldk + h->group * a->dk, a->ldk, c->k, c->ldk);
    k_chunk_rows(c, a->dv, a->v + row * a->ldv + h->head * a->dv, a->ldv, c->v, c->ldv);
    for (int64_t i = 0; a->beta && i < CHUNK; i++)
        c->beta[i] = i < c->count ? a->beta[(row + i) * a->ldbeta + h->head] : 0;
    load_decays(a, h, row, c);
    decays(a, c);
    int64_t rows = c->blocks * BLOCK;
    k_rows_multiply(rows, a->dk, c->q, c->pre, c->ql, c->ldk);
    k_rows_multiply(rows, a->dk, c->k, c->pre, c->kl, c->ldk);
    k_rows_multiply(rows, a->dk, c->k, c->suf, c->kr, c->ldk);
    for (int64_t b = 0; b + 1 < c->blocks; b++)
        k_rows_scale(BLOCK, a->dk, c->after + b * c->ldk, c->kr + b * BLOCK * c->ldk, c->ldk);
}

/* == Tokens by tokens ===================================================== */

/* Channels from e on of a block that decay too much for 1 / e^pre, pair by pair. */
static void slow_vector(Chunk *c, int64_t block, int64_t e, int outputs, int delta) {
    int64_t first = block * BLOCK, ld = c->ldk;
    VI slow = v_load(c->ipre + first * ld + e) == 0.0f;
    for (int64_t j = 0; j < BLOCK; j++) {
        V sum = v_zero(), k = v_load(c->k + (first + j) * ld + e);
        k = v_select(slow, k, v_zero());
        for (int64_t i = j; i < BLOCK; i++) {
            int64_t at = (first + i) * ld + e;
            if (i > j) sum += v_load(c->g + at);
            V x = k * power(sum);
            float *P = c->P + (first + i) * WIDE + first + j,
                  *A = c->A + (first + i) * WIDE + first + j;
            if (outputs) *P += v_sum(x * v_load(c->q + at));
            if (delta) *A += v_sum(x * v_load(c->k + at));
        }
    }
}

/* Sets what a token may not see to 0: from the diagonal on, or after it. */
void k_chunk_cut(const Chunk *c, int64_t block, int diagonal, float *x) {
    for (int64_t i = block * BLOCK; i < (block + 1) * BLOCK; i++)
        for (int64_t j = i + diagonal; j < c->blocks * BLOCK; j++)
            x[i * WIDE + j] = 0;
}

/* rows of block 'block' of 'left' by the columns of 'turned' up to theirs */
static void pair_rows(const Recurrence *a, const Chunk *c, int64_t block, const float *left,
                      float *out) {
    int64_t first = block * BLOCK;
    k_product(&(Product){ .rows = BLOCK,
                          .columns = first + BLOCK,
                          .steps = a->dk,
                          .a = left + first * c->ldk,
                          .row = c->ldk,
                          .step = 1,
                          .b = c->turned,
                          .ldb = WIDE,
                          .c = out + first * WIDE,
                          .ldc = WIDE });
}

/* 'turned' gets the columns of a block: k times one of its powers. */
static void turn_block(const Recurrence *a, const Chunk *c, int64_t block, const float *by) {
    int64_t at = block * BLOCK * c->ldk;
    k_rows_multiply(BLOCK, a->dk, c->k + at, by + at, c->spare, c->ldk);
    k_turn(BLOCK, a->dk, c->spare, c->ldk, c->turned + block * BLOCK, WIDE);
}

/* Columns of blocks before it decay by a block more. */
static void roll(const Recurrence *a, const Chunk *c, int64_t block) {
    const float *by = c->pre + ((block + 1) * BLOCK - 1) * c->ldk;
    for (int64_t e = 0; e < a->dk; e++)
        for (int64_t j = 0; j < block * BLOCK; j += LANES) {
            float *x = c->turned + e * WIDE + j;
            v_store(x, v_load(x) * by[e]);
        }
}

void k_chunk_pairs(const Recurrence *a, Chunk *c, int outputs) {
    int delta = a->beta != 0;
    for (int64_t b = 0; b < c->blocks && (delta || outputs); b++) {
        turn_block(a, c, b, c->ipre);
        if (outputs) pair_rows(a, c, b, c->ql, c->P);
        if (delta) pair_rows(a, c, b, c->kl, c->A);
        for (int64_t e = 0; c->slow[b] && e < a->dk; e += LANES)
            slow_vector(c, b, e, outputs, delta);
        if (outputs) k_chunk_cut(c, b, 1, c->P);
        if (delta) k_chunk_cut(c, b, 0, c->A);
        if (a->decay) roll(a, c, b);
        turn_block(a, c, b, c->suf);
    }
}

/* == The state ============================================================ */

void k_chunk_since(const Recurrence *a, Chunk *c) {
    for (int64_t b = 1; a->decay && b < c->blocks; b++) {
        k_rows_scale(BLOCK, a->dk, c->before + b * c->ldk, c->ql + b * BLOCK * c->ldk, c->ldk);
        k_rows_scale(BLOCK, a->dk, c->before + b * c->ldk, c->kl + b * BLOCK * c->ldk, c->ldk);
    }
}

/* Of a block whose rows x lack only what its own tokens put there: A is its square. */
static void solve_block(int64_t dv, const float *A, const float *beta, float *x, float *error,
                        int64_t ld) {
    for (int64_t e = 0; e < dv; e += LANES) {
        V r[BLOCK];
        UNROLL for (int i = 0; i < BLOCK; i++) r[i] = v_load(x + i * ld + e);
        UNROLL for (int j = 0; j < BLOCK; j++) {
            if (error) v_store(error + j * ld + e, r[j]);
            r[j] = r[j] * beta[j];
            UNROLL for (int i = j + 1; i < BLOCK; i++)
                r[i] = v_fma(v_splat(-A[i * WIDE + j]), r[j], r[i]);
        }
        UNROLL for (int i = 0; i < BLOCK; i++) v_store(x + i * ld + e, r[i]);
    }
}

void k_chunk_solve(const Recurrence *a, Chunk *c, const float *S, float *error) {
    if (!a->beta) return;
    k_product(&(Product){ .rows = c->blocks * BLOCK,
                          .columns = whole(a->dv),
                          .steps = a->dk,
                          .a = c->kl,
                          .row = c->ldk,
                          .step = 1,
                          .b = S,
                          .ldb = c->ldv,
                          .c = c->v,
                          .ldc = c->ldv,
                          .add = 1,
                          .minus = 1 });
    for (int64_t b = 0; b < c->blocks; b++) {
        int64_t first = b * BLOCK;
        k_product(&(Product){ .rows = BLOCK,
                              .columns = whole(a->dv),
                              .steps = first,
                              .a = c->A + first * WIDE,
                              .row = WIDE,
                              .step = 1,
                              .b = c->v,
                              .ldb = c->ldv,
                              .c = c->v + first * c->ldv,
                              .ldc = c->ldv,
                              .add = 1,
                              .minus = 1 });
        solve_block(a->dv, c->A + first * WIDE + first, c->beta + first, c->v + first * c->ldv,
                    error ? error + first * c->ldv : 0, c->ldv);
    }
}

void k_chunk_advance(const Recurrence *a, const Chunk *c, float *S) {
    k_product(&(Product){ .rows = a->dk,
                          .columns = whole(a->dv),
                          .steps = c->blocks * BLOCK,
                          .a = c->kr,
                          .row = 1,
                          .step = c->ldk,
                          .b = c->v,
                          .ldb = c->ldv,
                          .c = S,
                          .ldc = c->ldv,
                          .scale = c->before + c->blocks * c->ldk });
}

void k_state_in(const Recurrence *a, const float *state, float *S) {
    int64_t ld = line(a->dv);
    for (int64_t i = 0; i < line(a->dk) * ld; i += LANES)
        v_store(S + i, v_zero());
    if (state) k_rows_in(a->dk, a->dv, state, a->dv, S, ld);
}
