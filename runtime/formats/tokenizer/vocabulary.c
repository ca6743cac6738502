/* SPDX-License-Identifier: MIT
** Vocabularies, pairs and prefixes; see vocabulary.h. */
#include "vocabulary.h"
#include "array.h"

#include <stdlib.h>
#include <string.h>

uint64_t vocabulary_hash(const char *text, size_t length) {
    uint64_t h = length * 0x9e3779b97f4a7c15u, x;
    for (; length >= 8; text += 8, length -= 8) {
        memcpy(&x, text, 8);
        h = (h ^ x) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    x = 0;
    memcpy(&x, text, length);
    h = (h ^ x) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 29;
}

int vocabulary_open(Vocabulary *v, int32_t ids, const char *what, Error *e) {
    *v = (Vocabulary){ .ids = ids, .mask = 63 };
    if (ids > VOCABULARY_IDS)
        return error_set(e, STATUS_LIMIT, "%s: expected ids below %d, found %d", what,
                         VOCABULARY_IDS, ids - 1);
    while (v->mask < 2 * (uint32_t)ids)
        v->mask = 2 * v->mask + 1;
    v->span = malloc(((size_t)ids + 1) * sizeof *v->span);
    v->slot = calloc((size_t)v->mask + 1, sizeof *v->slot);
    if (!v->span || !v->slot) return error_memory(e, what, ((size_t)v->mask + 1) * sizeof *v->slot);
    for (int32_t i = 0; i <= ids; i++)
        v->span[i] = (VocabularySpan){ 0, VOCABULARY_NONE };
    return STATUS_OK;
}

void vocabulary_free(Vocabulary *v) {
    free(v->span);
    free(v->slot);
    text_free(&v->bytes);
    *v = (Vocabulary){ 0 };
}

static bool vocabulary_same(const Vocabulary *v, int32_t id, const char *text, size_t length) {
    const VocabularySpan *s = &v->span[id];
    return s->length == length && !memcmp(v->bytes.at + s->at, text, length);
}

/* What a slot holds: the id + 1, and above it bits of the hash, so that others are seldom looked
** at. */
enum { SLOT_ID_BITS = 23, SLOT_ID = (1 << SLOT_ID_BITS) - 1 };
_Static_assert((int)VOCABULARY_IDS < (int)SLOT_ID, "an id has room");

static uint32_t slot_of(int32_t id, uint64_t hash) {
    return (uint32_t)(hash >> 32) << SLOT_ID_BITS | (uint32_t)(id + 1);
}

static int32_t slot_id(uint32_t slot) { return (int32_t)(slot & SLOT_ID) - 1; }

static bool may_be(uint32_t slot, uint64_t hash) {
    return !((slot ^ (uint32_t)(hash >> 32) << SLOT_ID_BITS) >> SLOT_ID_BITS);
}

static int make_found(Vocabulary *v, int32_t id, const char *text, size_t length, const char *what,
                      Error *e) {
    uint64_t hash = vocabulary_hash(text, length), h = hash;
    for (int probes = 0; probes < VOCABULARY_PROBES; probes++, h++) {
        uint32_t *slot = &v->slot[h & v->mask];
        if (*slot && may_be(*slot, hash) && vocabulary_same(v, slot_id(*slot), text, length))
            return error_set(e, STATUS_USER,
                             "%s: expected each piece once, found ids %d and %d of one piece", what,
                             slot_id(*slot), id);
        if (*slot) continue;
        *slot = slot_of(id, hash);
        if (length > v->longest) v->longest = (uint32_t)length;
        return STATUS_OK;
    }
    return error_set(e, STATUS_LIMIT, "%s: expected pieces that differ, found too many alike",
                     what);
}

int vocabulary_set(Vocabulary *v, int32_t id, const char *text, size_t length, bool found,
                   const char *what, Error *e) {
    if (vocabulary_has(v, id))
        return error_set(e, STATUS_USER, "%s: expected each id once, found %d twice", what, id);
    if (v->bytes.length + length > UINT32_MAX - 1)
        return error_set(e, STATUS_LIMIT, "%s: expected less than 4 GB of pieces, found more",
                         what);
    size_t at = v->bytes.length;
    text_bytes(&v->bytes, text, length);
    if (v->bytes.failed) return text_status(&v->bytes, e);
    v->span[id] = (VocabularySpan){ (uint32_t)at, (uint32_t)length };
    return found ? make_found(v, id, v->bytes.at + at, length, what, e) : STATUS_OK;
}

bool vocabulary_has(const Vocabulary *v, int32_t id) {
    return id >= 0 && id < v->ids && v->span[id].length != VOCABULARY_NONE;
}

const char *vocabulary_text(const Vocabulary *v, int32_t id, size_t *length) {
    *length = v->span[id].length;
    return v->bytes.at + v->span[id].at;
}

int32_t vocabulary_find(const Vocabulary *v, const char *text, size_t length) {
    if (length > v->longest) return -1;
    uint64_t hash = vocabulary_hash(text, length);
    for (uint64_t h = hash;; h++) {
        uint32_t slot = v->slot[h & v->mask];
        if (!slot) return -1;
        if (may_be(slot, hash) && vocabulary_same(v, slot_id(slot), text, length))
            return slot_id(slot);
    }
}

/* == Pairs ================================================================ */

/* NULL: too many keys alike */
static PairSlot *vocabulary_place(PairTable *p, uint64_t key) {
    uint64_t h = pair_hash(key);
    for (int probes = 0; probes < VOCABULARY_PROBES; probes++, h++) {
        PairSlot *s = &p->slot[h & p->mask];
        if (s->key == key || s->key == UINT64_MAX) return s;
    }
    return NULL;
}

static int grow_pairs(PairTable *p, const char *what, Error *e) {
    PairTable bigger = { .mask = p->slot ? 2 * p->mask + 1 : 255, .count = p->count };
    size_t bytes = (bigger.mask + 1) * sizeof *bigger.slot;
    bigger.slot = malloc(bytes);
    if (!bigger.slot) return error_memory(e, what, bytes);
    for (uint64_t i = 0; i <= bigger.mask; i++)
        bigger.slot[i].key = UINT64_MAX;
    for (uint64_t i = 0; p->slot && i <= p->mask; i++) {
        if (p->slot[i].key == UINT64_MAX) continue;
        PairSlot *to = vocabulary_place(&bigger, p->slot[i].key);
        if (!to) {
            free(bigger.slot);
            return error_set(e, STATUS_LIMIT,
                             "%s: expected pairs that differ, found too many alike", what);
        }
        *to = p->slot[i];
    }
    free(p->slot);
    *p = bigger;
    return STATUS_OK;
}

int pairs_set(PairTable *p, uint64_t key, uint32_t rank, int32_t id, const char *what, Error *e) {
    if (!p->slot || 2 * p->count > p->mask) {
        int status = grow_pairs(p, what, e);
        if (status) return status;
    }
    PairSlot *s = vocabulary_place(p, key);
    if (!s)
        return error_set(e, STATUS_LIMIT, "%s: expected pairs that differ, found too many alike",
                         what);
    if (s->key == UINT64_MAX) p->count++;
    *s = (PairSlot){ key, rank, id };
    return STATUS_OK;
}

void pairs_free(PairTable *p) {
    free(p->slot);
    *p = (PairTable){ 0 };
}

/* == Prefixes ============================================================= */

static int new_node(PrefixTree *t, const char *what, Error *e) {
    if (!ARRAY_ROOM(t->at, t->count, t->room, 256))
        return error_memory(e, what, 2 * (size_t)t->room * sizeof *t->at);
    t->at[t->count++] = -1;
    return STATUS_OK;
}

int prefix_add(PrefixTree *t, const char *text, size_t length, int32_t value, const char *what,
               Error *e) {
    if (length > PREFIX_LONGEST)
        return error_set(e, STATUS_LIMIT, "%s: expected at most %d bytes of a token, found %zu",
                         what, PREFIX_LONGEST, length);
    if (t->count > PREFIX_NODES)
        return error_set(e, STATUS_LIMIT, "%s: expected at most %d bytes of tokens, found more",
                         what, PREFIX_NODES);
    int status = t->count ? STATUS_OK : new_node(t, what, e);
    int32_t node = 0;
    for (size_t i = 0; i < length && !status; i++) {
        uint64_t key = (uint64_t)(uint32_t)node << 8 | (unsigned char)text[i];
        const PairSlot *s = pairs_find(&t->child, key);
        if (s) {
            node = s->id;
            continue;
        }
        status = pairs_set(&t->child, key, 0, t->count, what, e);
        node = t->count;
        if (!status) status = new_node(t, what, e);
    }
    if (status) return status;
    t->at[node] = value;
    if (length) t->first[(unsigned char)*text] = true;
    return STATUS_OK;
}

size_t prefix_find(const PrefixTree *t, const char *text, size_t length, int32_t *value) {
    size_t found = 0;
    int32_t node = 0;
    if (!length || !t->first[(unsigned char)*text]) return 0;
    for (size_t i = 0; i < length; i++) {
        const PairSlot *s = pairs_find(&t->child,
                                       (uint64_t)(uint32_t)node << 8 | (unsigned char)text[i]);
        if (!s) break;
        node = s->id;
        if (t->at[node] < 0) continue;
        found = i + 1;
        *value = t->at[node];
    }
    return found;
}

void prefix_free(PrefixTree *t) {
    pairs_free(&t->child);
    free(t->at);
    *t = (PrefixTree){ 0 };
}
