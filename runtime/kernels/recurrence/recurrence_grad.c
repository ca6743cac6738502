/* SPDX-License-Identifier: MIT
** A recurrence over time, backward.  A task is the heads of one sequence that share q and k
** (or of more groups, by lanes); with rates, of all sequences that have one sum of their gradients.
** Chunks are gone over twice: forward for the state before each and the error e of every token,
** u = beta e, which lie in the room for states and where gradients of v will be; then from the
** last to the first, dS the gradient of the state after a chunk:
**   y = kr dS + P^T do, less what later tokens of the chunk saw   z = beta y = dv   dbeta = y . e
**   dP = do u^T   dA = -z u^T   dS = e^G dS + ql^T do - kl^T z
** Gradients of q, of k as what asks (in kl) and as what is stored (in kr) are found apart: each is
** a power of the decay times its vector, so that the gradient of G is q dq + k dk, less k dk.
*/
#include "recurrence_channels.h"
#include "recurrence_back.h"

/* == Room ================================================================= */

int64_t k_recurrence_grad_floats(int64_t dk, int64_t dv) {
    return k_chunk_floats(dk, dv) + 2 * line(dk) * line(dv) + line(dv) * (line(dk) + WIDE)
        + CHUNK * (4 * line(dv) + 4 * line(dk)) + 2 * CHUNK * WIDE + line(dk);
}

static BackChunk grad_open_room(const Recurrence *a, float *scratch) {
    BackChunk x = { .a = a };
    x.c = k_chunk_room(a, &scratch);
    int64_t ldk = x.c.ldk, ldv = x.c.ldv;
    float **of_states[] = { &x.S, &x.dS }, **of_values[] = { &x.error, &x.dout, &x.y, &x.z },
          **of_keys[] = { &x.dq, &x.dkl, &x.dkr, &x.dself };
    for (int i = 0; i < 2; i++)
        *of_states[i] = take(&scratch, line(a->dk) * ldv);
    for (int i = 0; i < 4; i++) {
        *of_values[i] = take(&scratch, CHUNK * ldv);
        *of_keys[i] = take(&scratch, CHUNK * ldk);
    }
    x.turned_state = take(&scratch, line(a->dv) * ldk);
    x.turned_u = take(&scratch, line(a->dv) * WIDE);
    x.dP = take(&scratch, CHUNK * WIDE);
    x.dA = take(&scratch, CHUNK * WIDE);
    x.end = take(&scratch, ldk);
    return x;
}

/* == States =============================================================== */

/* The state after a whole chunk to its rows of the room, each of which has an equal part; or back.
 */
static void move_state(const BackChunk *x, int64_t row, float *S, int back) {
    const Recurrence *a = x->a;
    int64_t total = (int64_t)a->dk * a->dv, part = (total + CHUNK - 1) / CHUNK;
    for (int64_t at = 0, run; at < total; at += run) {
        int64_t i = at / a->dv, e = at % a->dv, in = at % part;
        run = min64(part - in, a->dv - e);
        float *room = a->room + (row + at / part) * a->ldroom + x->h.head * part + in,
              *state = S + i * x->c.ldv + e;
        for (int64_t k = 0; k < run; k++)
            if (back) state[k] = room[k];
            else room[k] = state[k];
    }
}

static float *value_rows(const BackChunk *x, float *base, int64_t ld) {
    return base + (x->h.row + x->c.first) * ld + x->h.head * x->a->dv;
}

/* Forward: states to the room, errors to where the gradient of v will be. */
static void grad_sweep(BackChunk *x) {
    const Recurrence *a = x->a;
    k_state_in(a, 0, x->S);
    for (int64_t first = 0; first < x->h.count; first += CHUNK) {
        k_chunk_load(a, &x->h, first, &x->c);
        k_chunk_pairs(a, &x->c, 0);
        k_chunk_since(a, &x->c);
        k_chunk_solve(a, &x->c, x->S, x->error);
        if (a->beta)
            k_rows_out(x->c.count, a->dv, x->error, x->c.ldv, value_rows(x, a->dvalue, a->lddv),
                       a->lddv, 0);
        if (first + CHUNK >= x->h.count) break;
        k_chunk_advance(a, &x->c, x->S);
        move_state(x, x->h.row + first, x->S, 0);
    }
}

/* == A chunk ============================================================== */

/* What the forward pass knew of the chunk; c.v becomes u. */
static void grad_load(BackChunk *x, int64_t first) {
    const Recurrence *a = x->a;
    Chunk *c = &x->c;
    k_chunk_load(a, &x->h, first, c);
    k_chunk_pairs(a, c, 1);
    k_chunk_rows(c, a->dv, value_rows(x, (float *)a->dout, a->lddout), a->lddout, x->dout, c->ldv);
    if (a->beta) {
        k_chunk_rows(c, a->dv, value_rows(x, a->dvalue, a->lddv), a->lddv, x->error, c->ldv);
        for (int64_t i = 0; i < c->blocks * BLOCK; i++)
            for (int64_t e = 0; e < a->dv; e += LANES)
                v_store(c->v + i * c->ldv + e, v_load(x->error + i * c->ldv + e) * c->beta[i]);
    }
    if (first) move_state(x, x->h.row + first - CHUNK, x->S, 1);
    else k_state_in(a, 0, x->S);
}

/* y = kr dS + P^T do */
static void outputs_back(BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    k_product(&(Product){ .rows = c->blocks * BLOCK,
                          .columns = whole(a->dv),
                          .steps = a->dk,
                          .a = c->kr,
                          .row = c->ldk,
                          .step = 1,
                          .b = x->dS,
                          .ldb = c->ldv,
                          .c = x->y,
                          .ldc = c->ldv });
    for (int64_t first = 0; first < c->blocks * BLOCK; first += BLOCK)
        k_product(&(Product){ .rows = BLOCK,
                              .columns = whole(a->dv),
                              .steps = c->blocks * BLOCK - first,
                              .a = c->P + first * WIDE + first,
                              .row = 1,
                              .step = WIDE,
                              .b = x->dout + first * c->ldv,
                              .ldb = c->ldv,
                              .c = x->y + first * c->ldv,
                              .ldc = c->ldv,
                              .add = 1 });
}

/* Of a block whose rows y lack only what its own later tokens saw. */
static void solve_block_back(int64_t dv, const float *A, const float *beta, float *y, float *z,
                             int64_t ld) {
    for (int64_t e = 0; e < dv; e += LANES) {
        V r[BLOCK];
        UNROLL for (int i = 0; i < BLOCK; i++) r[i] = v_load(y + i * ld + e);
        UNROLL for (int j = BLOCK - 1; j >= 0; j--) {
            V zj = r[j] * beta[j];
            v_store(z + j * ld + e, zj);
            UNROLL for (int i = j - 1; i >= 0; i--)
                r[i] = v_fma(v_splat(-A[j * WIDE + i]), zj, r[i]);
        }
        UNROLL for (int i = 0; i < BLOCK; i++) v_store(y + i * ld + e, r[i]);
    }
}

static void solve_back(BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    for (int64_t b = c->blocks; b-- > 0;) {
        int64_t first = b * BLOCK, after = first + BLOCK;
        k_product(&(Product){ .rows = BLOCK,
                              .columns = whole(a->dv),
                              .steps = c->blocks * BLOCK - after,
                              .a = c->A + after * WIDE + first,
                              .row = 1,
                              .step = WIDE,
                              .b = x->z + after * c->ldv,
                              .ldb = c->ldv,
                              .c = x->y + first * c->ldv,
                              .ldc = c->ldv,
                              .add = 1,
                              .minus = 1 });
        solve_block_back(a->dv, c->A + first * WIDE + first, c->beta + first, x->y + first * c->ldv,
                         x->z + first * c->ldv, c->ldv);
    }
    for (int64_t i = 0; i < c->count; i++) {
        V sum = v_zero();
        for (int64_t e = 0; e < a->dv; e += LANES)
            sum = v_fma(v_load(x->y + i * c->ldv + e), v_load(x->error + i * c->ldv + e), sum);
        a->dbeta[(x->h.row + c->first + i) * a->lddbeta + x->h.head] = v_sum(sum);
    }
}

/* dS = e^G dS + ql^T do - kl^T z, with both since before the chunk */
static void state_back(BackChunk *x) {
    const Recurrence *a = x->a;
    const Chunk *c = &x->c;
    Product p = { .rows = a->dk,
                  .columns = whole(a->dv),
                  .steps = c->blocks * BLOCK,
                  .a = c->ql,
                  .row = 1,
                  .step = c->ldk,
                  .b = x->dout,
                  .ldb = c->ldv,
                  .c = x->dS,
                  .ldc = c->ldv,
                  .scale = c->before + c->blocks * c->ldk };
    k_product(&p);
    if (!a->beta) return;
    p.a = c->kl, p.b = x->z, p.scale = 0, p.add = p.minus = 1;
    k_product(&p);
}

static void chunk_back(BackChunk *x, int64_t first, int add) {
    const Recurrence *a = x->a;
    grad_load(x, first);
    outputs_back(x);
    if (a->beta) solve_back(x);
    else x->z = x->y;
    k_rows_out(x->c.count, a->dv, x->z, x->c.ldv, value_rows(x, a->dvalue, a->lddv), a->lddv, 0);
    k_back_pairs(x);
    k_back_states(x);
    k_back_rows(x);
    k_back_columns(x);
    state_back(x);
    k_back_close(x, add);
}

/* == Tasks ================================================================ */

/* Heads of a part. */
static int64_t heads_of_part(const Recurrence *a) {
    int64_t shared = a->heads / a->groups;
    return by_channels(a) || !by_lanes(a) ? shared
                                          : max64(1, lane_heads(a->dk, a->dv) / shared) * shared;
}

static int64_t grad_parts_of(const Recurrence *a) {
    int64_t heads = heads_of_part(a);
    return (a->heads + heads - 1) / heads;
}

/* A sum of rates goes over its sequences in order. */
int64_t k_recurrence_grad_tasks(const Recurrence *a) {
    return grad_parts_of(a) * (a->drate ? a->sums : a->sequences);
}

static void by_chunks(const Recurrence *a, int64_t sequence, int64_t first, int64_t end,
                      float *scratch) {
    BackChunk x = grad_open_room(a, scratch);
    x.sequence = sequence;
    for (int64_t head = first; head < end; head++) {
        x.h = k_recurrence_head(a, sequence, head);
        if (!x.h.count) return;
        grad_sweep(&x);
        k_state_in(a, 0, x.dS);
        for (int64_t t = (x.h.count - 1) / CHUNK * CHUNK; t >= 0; t -= CHUNK)
            chunk_back(&x, t, head > first);
    }
}

void k_recurrence_grad(const Recurrence *a, int64_t task, float *scratch) {
    int64_t first = task % grad_parts_of(a) * heads_of_part(a),
            end = min64(a->heads, first + heads_of_part(a)), sequence = task / grad_parts_of(a);
    for (int64_t i = first * a->dk; a->drate && i < end * a->dk; i++)
        drate_of(a, sequence, 0)[i] = 0;
    for (; sequence < a->sequences; sequence += a->drate ? a->sums : a->sequences)
        if (by_channels(a)) k_channels_grad(a, sequence, first, end, scratch);
        else if (by_lanes(a)) k_lanes_grad(a, sequence, first, end, scratch);
        else by_chunks(a, sequence, first, end, scratch);
}
