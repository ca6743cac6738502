/* SPDX-License-Identifier: MIT
** Recurrences whose heads have a small state: a lane is a head.  Tokens are processed one by one,
** as in the definition.  For so small a state this is less work than the matrices of a chunk,
** whose rows would be vectors with few numbers and many zeros.
**
** A block is some tokens of some heads, as arrays [token][part][room] with heads side by side;
** parts are a head's channels or the numbers of its state.  What several heads share is copied for
** each.
*/
#ifndef STRATA_KERNELS_RECURRENCE_LANES_H
#define STRATA_KERNELS_RECURRENCE_LANES_H

#include "recurrence.h"

/* Numbers of a state, at most; and with the lanes that have no head, for each head: as measured by
** tests/bench/recurrence_bench.c. */
enum { LANES_STATE = 32, LANES_TOKENS = 16, LANES_WASTE = 128 };

typedef struct LaneBlock {
    const Recurrence *a;
    int64_t sequence;            /* backward */
    int64_t first, heads;        /* of the block */
    int64_t room;                /* heads that arrays have room for: whole vectors */
    int64_t row, count;          /* tokens */
    float *q, *k, *v, *g, *beta; /* v becomes o; backward each becomes its gradient */
    float *S;                    /* [dk * dv]: the state after the block */
    float *rate, *token;         /* [dk], [1]: g is the product of a token's and a channel's */
    /* backward: before each token its state, what it decays by, u without beta; do; dS of the
    ** state after the block; [dk] of rates */
    float *states, *decay, *error, *dout, *dS, *drate;
} LaneBlock;

/* Lanes without a head are work for nothing: with few of a vector's filled, chunks are faster. */
INLINE int by_lanes(const Recurrence *a) {
    int64_t state = (int64_t)a->dk * a->dv, lanes = (a->heads + LANES - 1) / LANES * LANES;
    return state <= LANES_STATE && state * lanes <= LANES_WASTE * a->heads;
}

/* Heads of a block: fewer of larger ones, so that what it works on stays in a core's caches. */
INLINE int64_t lane_heads(int64_t dk, int64_t dv) {
    return dk * dv > 8 ? 16 : dk * dv > 4 ? 32 : 64;
}

/* Tokens of a block, backward: no fewer than a state has numbers. */
INLINE int64_t lane_tokens(int64_t dk, int64_t dv) {
    return dk * dv > LANES_TOKENS ? LANES_STATE : LANES_TOKENS;
}

/* recurrence_lanes.c: forward */
int64_t k_lanes_tasks(const Recurrence *a);
void k_lanes(const Recurrence *a, int64_t task, float *scratch);
int64_t k_lanes_floats(int64_t dk, int64_t dv);
LaneBlock k_lanes_room(const Recurrence *a, int64_t tokens, float **scratch);
/* Reads the rates of the block's heads, if there are such. */
void k_lanes_rates(const LaneBlock *b);
/* Reads rows 'row' ... of the block's heads; of q if 'queries'. */
void k_lanes_load(LaneBlock *b, int64_t row, int64_t count, int queries);
/* Goes over the block's tokens; 'outputs': v becomes o; 'keep': what going back needs is stored. */
void k_lanes_forward(const LaneBlock *b, int outputs, int keep);

/* recurrence_lanes_back.c */
void k_lanes_grad(const Recurrence *a, int64_t sequence, int64_t first, int64_t end,
                  float *scratch);

/* recurrence_turn.c: 'count' rows, of heads of 'parts' numbers each from 'from' on, to an array of
** a block, whose first head has number 0 there, and back; zeros in lanes without a head. */
void k_lanes_in(const LaneBlock *b, int64_t count, int64_t parts, const float *from, int64_t ld,
                float *to);
void k_lanes_out(const LaneBlock *b, int64_t count, int64_t parts, const float *from, float *to,
                 int64_t ld);
/* The same of what heads share: each gets its group's; the sum of a group's heads, or 'add': onto
** what is there. */
void k_lanes_spread(const LaneBlock *b, int64_t count, const float *from, int64_t ld, float *to);
void k_lanes_gather(const LaneBlock *b, int64_t count, const float *from, float *to, int64_t ld,
                    int add);

#endif
