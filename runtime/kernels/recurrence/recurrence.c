/* SPDX-License-Identifier: MIT
** A recurrence over time, forward.  A task is one head of one sequence: chunks of 64 tokens one
** after another, the state in between; heads of small states go by lanes
** or by channels (recurrence_lanes.h, recurrence_channels.h).
** With u of every token of a chunk (recurrence_chunk.c)
**   o = ql S + P u        S = e^G S + kr^T u
*/
#include "recurrence_channels.h"
#include "transpose.h"

static int64_t forward_floats(int64_t dk, int64_t dv) {
    return k_chunk_floats(dk, dv) + (line(dk) + CHUNK) * line(dv);
}

int64_t k_recurrence_scratch(int64_t dk, int64_t dv, int gradient) {
    int64_t floats = max64(forward_floats(dk, dv), k_steps_floats(dk, dv));
    floats = max64(floats, k_lanes_floats(dk, dv));
    floats = max64(floats, k_channels_floats(dk));
    if (gradient) floats = max64(floats, k_recurrence_grad_floats(dk, dv));
    return (floats + 15) / 16 * 64;
}

int64_t k_recurrence_tasks(const Recurrence *a) {
    if (by_channels(a)) return k_channels_tasks(a);
    return by_lanes(a) ? k_lanes_tasks(a) : a->sequences * a->heads;
}

/* o [CHUNK][dv] of a chunk whose ql are since its start. */
static void outputs(const Recurrence *a, const Chunk *c, const float *S, float *o) {
    k_product(&(Product){ .rows = c->blocks * BLOCK,
                          .columns = whole(a->dv),
                          .steps = a->dk,
                          .a = c->ql,
                          .row = c->ldk,
                          .step = 1,
                          .b = S,
                          .ldb = c->ldv,
                          .c = o,
                          .ldc = c->ldv });
    for (int64_t first = 0; first < c->blocks * BLOCK; first += BLOCK)
        k_product(&(Product){ .rows = BLOCK,
                              .columns = whole(a->dv),
                              .steps = first + BLOCK,
                              .a = c->P + first * WIDE,
                              .row = WIDE,
                              .step = 1,
                              .b = c->v,
                              .ldb = c->ldv,
                              .c = o + first * c->ldv,
                              .ldc = c->ldv,
                              .add = 1 });
}

static void chunks(const Recurrence *a, const HeadRows *h, float *state, float *scratch) {
    Chunk c = k_chunk_room(a, &scratch);
    float *S = take(&scratch, line(a->dk) * c.ldv), *o = take(&scratch, CHUNK * c.ldv);
    k_state_in(a, state, S);
    for (int64_t first = 0; first < h->count; first += CHUNK) {
        k_chunk_load(a, h, first, &c);
        k_chunk_pairs(a, &c, 1);
        k_chunk_since(a, &c);
        k_chunk_solve(a, &c, S, 0);
        outputs(a, &c, S, o);
        k_rows_out(c.count, a->dv, o, c.ldv, a->o + (h->row + first) * a->ldo + h->head * a->dv,
                   a->ldo, 0);
        k_chunk_advance(a, &c, S);
    }
    if (state) k_rows_out(a->dk, a->dv, S, c.ldv, state, a->dv, 0);
}

void k_recurrence(const Recurrence *a, int64_t task, float *scratch) {
    if (by_channels(a)) {
        k_channels(a, task, scratch);
        return;
    }
    if (by_lanes(a)) {
        k_lanes(a, task, scratch);
        return;
    }
    int64_t b = task / a->heads, head = task % a->heads;
    HeadRows h = k_recurrence_head(a, b, head);
    float *state = a->states ? state_of(a, b, head) : 0;
    if (state && h.count <= STEPS) k_recurrence_steps(a, &h, state, scratch);
    else chunks(a, &h, state, scratch);
}
