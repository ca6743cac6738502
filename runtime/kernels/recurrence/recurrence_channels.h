/* SPDX-License-Identifier: MIT
** Recurrences whose heads have values of one number, where many heads share queries and keys of
** whole vectors: a lane is a channel.  States, keys, queries and decays are used in their memory
** layout, and gradients of what heads share are sums of vectors.  Tokens are processed one by one,
** as in recurrence_lanes.h.
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

/* Heads that share and go at once, over rows 'row' ... of a block of tokens: what they have one of
** each stays in registers. */
typedef struct ChannelHeads {
    int64_t row, count;
    int64_t head, group;
    int opens; /* whether these are the first of their group */
} ChannelHeads;

/* Of one vector each; of two half as many; and vectors of them. */
enum {
    CHANNEL_FEW = 4,
    CHANNEL_MOST = CHANNEL_VECTORS > CHANNEL_FEW ? CHANNEL_VECTORS : CHANNEL_FEW
};

/* Of what is kept of a token of the block. */
INLINE float *kept_at(const ChannelBlock *b, float *x, const ChannelHeads *h, int64_t t) {
    return x + (t * b->heads + h->head - b->first) * b->a->dk;
}

/* Calls RUN(m, &heads) for the block's heads, m at once or, where fewer are left that share, 1. */
#define EACH_HEADS(b, row_, count_, most, RUN)                                         \
    for (int64_t shared = (b)->a->heads / (b)->a->groups, group = (b)->first / shared, \
                 last = (b)->first + (b)->heads, head = (b)->first;                    \
         head < last; group++)                                                         \
        for (int64_t end = min64(last, (group + 1) * shared); head < end;) {           \
            ChannelHeads h = { row_, count_, head, group, head == group * shared };    \
            int all = end - head >= (most);                                            \
            if (all) RUN(most, &h);                                                    \
            else RUN(1, &h);                                                           \
            head += all ? (most) : 1;                                                  \
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
