/* SPDX-License-Identifier: MIT
** Byte pair encoding of one word: of all neighbours that make a piece the ones of the lowest
** rank, from the left, become it, until none do.  O(n log n) for n symbols.
*/
#ifndef STRATA_MERGE_H
#define STRATA_MERGE_H

#include "vocabulary.h"

typedef struct MergeSymbol {
    int32_t id;            /* -1: none; by text only */
    uint32_t from, length; /* bytes of the word */
    int32_t before, after; /* -1: none */
    uint32_t rank;         /* of it and the one after it; UINT32_MAX: they make nothing */
    int32_t merged;        /* what they make */
    bool frozen;           /* stays as it is */
} MergeSymbol;

typedef struct MergeCandidate {
    uint64_t order; /* rank, then place */
    uint32_t length;
    int32_t merged;
} MergeCandidate;

typedef struct MergeRule {
    const PairTable *pairs; /* of ids; NULL: what two texts make is the piece of both */
    const Vocabulary *pieces;
    const uint32_t *rank; /* by id, of pieces; UINT32_MAX: not made */
} MergeRule;

/* Memory that is used again from word to word; starts as {0}. */
typedef struct MergeWork {
    MergeSymbol *symbol;
    size_t count, room;
    MergeCandidate *heap;
    size_t held, heap_room;
    bool failed; /* no memory */
} MergeWork;

/* Another symbol behind the others; the first empties 'count' before. */
void merge_add(MergeWork *w, int32_t id, uint32_t from, uint32_t length);
/* Leaves what remains in symbol[0 … count-1]. */
void merge_all(MergeWork *w, const MergeRule *rule, const char *text);
void merge_free(MergeWork *w);

#endif
