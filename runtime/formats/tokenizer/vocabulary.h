/* SPDX-License-Identifier: MIT
** The pieces of a vocabulary by id, and ids by piece.  Tables may come from untrusted files: keys
** that were made to collide are refused instead of searched for a long time.
*/
#ifndef STRATA_VOCABULARY_H
#define STRATA_VOCABULARY_H

#include "json.h"

enum { VOCABULARY_IDS = 1 << 22, VOCABULARY_PROBES = 4096 };

typedef struct VocabularySpan {
    uint32_t at, length; /* length VOCABULARY_NONE: the id has no piece */
} VocabularySpan;
#define VOCABULARY_NONE UINT32_MAX

typedef struct Vocabulary {
    int32_t ids;
    uint32_t longest; /* bytes of the longest piece that is found */
    VocabularySpan *span;
    Text bytes;
    uint32_t *slot; /* of an id, 0: free; 'mask' + 1 of them */
    uint32_t mask;
} Vocabulary;

/* Ids 0 … ids-1 without pieces; at most VOCABULARY_IDS. */
int vocabulary_open(Vocabulary *v, int32_t ids, const char *what, Error *e);
void vocabulary_free(Vocabulary *v);
/* Gives an id its piece.  'found': it is found by its bytes, which no other may have then. */
int vocabulary_set(Vocabulary *v, int32_t id, const char *text, size_t length, bool found,
                   const char *what, Error *e);
bool vocabulary_has(const Vocabulary *v, int32_t id);
const char *vocabulary_text(const Vocabulary *v, int32_t id, size_t *length);
/* -1: none */
int32_t vocabulary_find(const Vocabulary *v, const char *text, size_t length);

uint64_t vocabulary_hash(const char *text, size_t length);

/* Pairs of numbers and what they become. */
typedef struct PairSlot {
    uint64_t key; /* UINT64_MAX: free */
    uint32_t rank;
    int32_t id;
} PairSlot;

typedef struct PairTable {
    PairSlot *slot;
    uint64_t mask, count;
} PairTable;

/* a later pair of the same key replaces the earlier one */
int pairs_set(PairTable *p, uint64_t key, uint32_t rank, int32_t id, const char *what, Error *e);
static inline uint64_t pair_key(int32_t a, int32_t b) {
    return (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
}

static inline uint64_t pair_hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 32;
}

/* NULL: none */
static inline const PairSlot *pairs_find(const PairTable *p, uint64_t key) {
    if (!p->slot) return NULL;
    for (uint64_t i = pair_hash(key);; i++) {
        const PairSlot *s = &p->slot[i & p->mask];
        if (s->key == key) return s;
        if (s->key == UINT64_MAX) return NULL;
    }
}

void pairs_free(PairTable *p);

/* Texts of which the longest at the beginning of another is wanted. */
typedef struct PrefixTree {
    PairTable child; /* node << 8 | byte -> node */
    int32_t *at;     /* by node: what ends there, -1: nothing */
    int32_t count, room;
    bool first[256]; /* bytes that a text begins with */
} PrefixTree;

enum {
    PREFIX_LONGEST = 512,  /* bytes of such a text */
    PREFIX_NODES = 1 << 24 /* of one tree, about */
};

int prefix_add(PrefixTree *t, const char *text, size_t length, int32_t value, const char *what,
               Error *e);
/* Bytes of the longest at the beginning of 'text', and its value; 0: none. */
size_t prefix_find(const PrefixTree *t, const char *text, size_t length, int32_t *value);
void prefix_free(PrefixTree *t);

#endif
