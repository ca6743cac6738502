/* SPDX-License-Identifier: MIT
** Recurrences whose heads have values of one number, and many of which share queries and keys of
** whole vectors: a lane is a channel.  States, keys, queries and decays then lie in memory as they
** are worked on, and gradients of what heads share are sums of vectors.  Tokens go one by one, as
** in recurrence_lanes.h.
*/
#ifndef STRATA_KERNELS_RECURRENCE_CHANNELS_H
#define STRATA_KERNELS_RECURRENCE_CHANNELS_H

#include "recurrence_lanes.h"

/* Heads of a block, vectors of a head, at most; and tokens ahead whose decays are fetched: rows of
** these are too far apart for the processor to see what comes next. */
enum { CHANNEL_HEADS = 32, CHANNEL_VECTORS = LANES_STATE / LANES, CHANNEL_AHEAD = 2 };

/* Numbers that heads have one of each go LANES heads at once, of one group. */
INLINE int by_channels(const Recurrence *a) {
    return a->dv == 1 && a->dk % LANES == 0 && a->dk <= LANES_STATE && !a->beta
        && a->heads / a->groups >= LANES / 2;
}

typedef struct ChannelBlock {
    const Recurrence *a;
    int64_t sequence;     /* backward */
    int64_t first, heads; /* of the block */
    float *S, *dS;        /* [heads][dk]: the state after a token; backward: its gradient */
    float *P, *decay;     /* backward, [token][head][dk]: decayed states, what they decayed by */
} ChannelBlock;

/* Heads of a token that share, up to LANES. */
typedef struct ChannelHeads {
    int64_t row, t; /* t: of the block's tokens */
    int64_t head, count, group;
    int opens; /* whether these are the first of their group */
} ChannelHeads;

/* The heads of a block from number 'head' on that go at once. */
INLINE ChannelHeads heads_from(const ChannelBlock *b, int64_t row, int64_t t, int64_t head) {
    int64_t shared = b->a->heads / b->a->groups, group = head / shared,
            end = min64(b->first + b->heads, (group + 1) * shared);
    return (ChannelHeads){ row, t, head, min64(LANES, end - head), group, head == group * shared };
}

INLINE float *kept_at(const ChannelBlock *b, float *x, const ChannelHeads *h) {
    return x + (h->t * b->heads + h->head - b->first) * b->a->dk;
}

/* Fetches 'count' floats; 'write': to be written. */
INLINE void fetch(const float *at, int64_t count, const int write) {
    for (int64_t i = 0; i < count; i += 16)
        if (write) __builtin_prefetch(at + i, 1);
        else __builtin_prefetch(at + i, 0);
}

/* recurrence_channels.c; 'outputs': o is stored; 'keep': P and decay are, of 'count' rows */
int64_t k_channels_tasks(const Recurrence *a);
void k_channels(const Recurrence *a, int64_t task, float *scratch);
void k_channels_forward(const ChannelBlock *b, int64_t row, int64_t count, int outputs, int keep);
int64_t k_channels_floats(int64_t dk);

/* recurrence_channels_back.c */
void k_channels_grad(const Recurrence *a, int64_t sequence, int64_t first, int64_t end,
                     float *scratch);

#endif
