/* SPDX-License-Identifier: MIT
** Pairs of neighbouring tokens: how often each occurs, where, and which pair to merge next: the
** most frequent one; among equals the one whose left token has the smaller id, then the right
** one's.
*/
#ifndef STRATA_PAIR_COUNTS_H
#define STRATA_PAIR_COUNTS_H

#include "error.h"

/* Left and right token; among equally frequent pairs the smaller one is merged first. */
typedef uint64_t PairKey;
static inline PairKey pair_of(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}
static inline int32_t pair_left(PairKey k) { return (int32_t)(k >> 32); }
static inline int32_t pair_right(PairKey k) { return (int32_t)(uint32_t)k; }

typedef struct TokenPair {
    PairKey key;
    int64_t count; /* in the whole text */
    int32_t *at;   /* places of left tokens, ascending; some may no longer be such a pair */
    int32_t places, room;
    bool used, raised, sorted; /* raised: its count grew since it was queued */
} TokenPair;

typedef struct QueuedPair {
    int64_t count; /* when it was queued: the pair's, or more */
    PairKey key;
} QueuedPair;

typedef struct PairCounts { /* starts as {0} */
    TokenPair *pair;        /* hash table */
    size_t pairs, slots;
    QueuedPair *queue; /* a heap */
    size_t queued, room;
    PairKey *raised;
    size_t raises, raised_room;
    bool failed; /* there was no memory */
} PairCounts;

/* One more occurrence, in a word that the text has 'times' times. */
void pair_counts_add(PairCounts *p, int32_t left, int32_t right, int32_t at, int64_t times);
/* One occurrence less.  Its place stays listed. */
void pair_counts_take(PairCounts *p, int32_t left, int32_t right, int64_t times);
/* Queues the pairs whose counts grew. */
void pair_counts_queue(PairCounts *p);
/* The next pair to be merged, whose places the caller gets (to be freed); false: there is none. */
bool pair_counts_next(PairCounts *p, TokenPair *next);
void pair_counts_free(PairCounts *p);

#endif
