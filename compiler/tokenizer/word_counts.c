/* SPDX-License-Identifier: MIT
** See word_counts.h.  Open addressing, at most half full. */
#include "word_counts.h"
#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { FIRST_SLOTS = 1 << 12, FIRST_BYTES = 1 << 16 };

static uint32_t hash_of(const char *word, size_t length) {
    uint64_t h = 0x9e3779b97f4a7c15u ^ length, piece;
    if (length > 64) return (uint32_t)xxh64(word, length, 0);
    for (; length >= sizeof piece; word += sizeof piece, length -= sizeof piece) {
        memcpy(&piece, word, sizeof piece);
        h = (h ^ piece) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    piece = 0;
    memcpy(&piece, word, length);
    h = (h ^ piece) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(h ^ h >> 29 ^ h >> 47);
}

static void counts_put(WordCounts *w, int64_t i) {
    size_t at = w->word[i].hash & (w->slots - 1);
    while (w->slot[at] >= 0)
        at = (at + 1) & (w->slots - 1);
    w->slot[at] = (int32_t)i;
}

static bool more_slots(WordCounts *w) {
    size_t slots = w->slots ? 2 * w->slots : FIRST_SLOTS;
    int32_t *slot = malloc(slots * sizeof *slot);
    if (!slot) return false;
    memset(slot, 0xff, slots * sizeof *slot);
    free(w->slot);
    w->slot = slot, w->slots = slots;
    for (int64_t i = 0; i < w->words; i++)
        counts_put(w, i);
    return true;
}

static bool counts_make_room(WordCounts *w, size_t length) {
    if (2 * ((size_t)w->words + 1) > w->slots && !more_slots(w)) return false;
    if (!ARRAY_ROOM(w->word, w->words, w->most, FIRST_SLOTS / 2)) return false;
    if (length >= w->room - w->used) {
        size_t room = 2 * (w->used + length) + FIRST_BYTES;
        char *bytes = realloc(w->bytes, room);
        if (!bytes) return false;
        w->bytes = bytes, w->room = room;
    }
    return w->words < INT32_MAX && length <= UINT32_MAX;
}

int64_t words_add(WordCounts *w, const char *word, size_t length, int64_t times) {
    uint32_t hash = hash_of(word, length);
    size_t at = hash & (w->slots - 1);
    for (; w->slots && w->slot[at] >= 0; at = (at + 1) & (w->slots - 1)) {
        CountedWord *x = &w->word[w->slot[at]];
        if (x->hash != hash || x->length != length || memcmp(w->bytes + x->at, word, length))
            continue;
        x->count += times;
        return w->slot[at];
    }
    if (!counts_make_room(w, length)) return -1;
    memcpy(w->bytes + w->used, word, length);
    w->bytes[w->used + length] = 0;
    w->word[w->words] = (CountedWord){ w->used, (uint32_t)length, hash, times };
    w->used += length + 1;
    counts_put(w, w->words);
    return w->words++;
}

void words_free(WordCounts *w) {
    free(w->bytes);
    free(w->word);
    free(w->slot);
    *w = (WordCounts){ 0 };
}
