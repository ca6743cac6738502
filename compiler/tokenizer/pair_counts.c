/* SPDX-License-Identifier: MIT
** See pair_counts.h.  Counts in the queue may be out of date; they are corrected when they reach
** the top.
*/
#include "pair_counts.h"
#include "array.h"

#include <stdlib.h>

enum { FIRST_PAIRS = 1 << 12, FIRST_PLACES = 4 };

/* == The table ============================================================ */

static TokenPair *counts_find(const PairCounts *p, PairKey key) {
    uint64_t h = key * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(h ^ h >> 32) & (p->slots - 1);
    while (p->pair[at].used && p->pair[at].key != key)
        at = (at + 1) & (p->slots - 1);
    return &p->pair[at];
}

static bool more_slots(PairCounts *p) {
    PairCounts bigger = { .slots = p->slots ? 2 * p->slots : FIRST_PAIRS };
    bigger.pair = calloc(bigger.slots, sizeof *bigger.pair);
    if (!bigger.pair) return false;
    for (size_t i = 0; i < p->slots; i++)
        if (p->pair[i].used) *counts_find(&bigger, p->pair[i].key) = p->pair[i];
    free(p->pair);
    p->pair = bigger.pair, p->slots = bigger.slots;
    return true;
}

/* NULL: no memory. */
static TokenPair *find_or_make(PairCounts *p, PairKey key) {
    if (2 * (p->pairs + 1) > p->slots && !more_slots(p)) return NULL;
    TokenPair *x = counts_find(p, key);
    if (!x->used) {
        *x = (TokenPair){ .key = key, .used = true, .sorted = true };
        p->pairs++;
    }
    return x;
}

static bool counts_add_place(TokenPair *x, int32_t at) {
    if (!ARRAY_ROOM(x->at, x->places, x->room, FIRST_PLACES)) return false;
    if (x->places && at < x->at[x->places - 1]) x->sorted = false;
    x->at[x->places++] = at;
    return true;
}

static bool list_raised(PairCounts *p, TokenPair *x) {
    if (!ARRAY_ROOM(p->raised, p->raises, p->raised_room, 256)) return false;
    x->raised = true;
    p->raised[p->raises++] = x->key;
    return true;
}

void pair_counts_add(PairCounts *p, int32_t left, int32_t right, int32_t at, int64_t times) {
    TokenPair *x = find_or_make(p, pair_of(left, right));
    if (!x || !counts_add_place(x, at) || (!x->raised && !list_raised(p, x))) p->failed = true;
    else x->count += times;
}

void pair_counts_take(PairCounts *p, int32_t left, int32_t right, int64_t times) {
    TokenPair *x = p->slots ? counts_find(p, pair_of(left, right)) : NULL;
    if (x && x->used) x->count -= times;
}

/* == The queue ============================================================ */

static bool counts_before(QueuedPair a, QueuedPair b) {
    return a.count != b.count ? a.count > b.count : a.key < b.key;
}

static void counts_push(PairCounts *p, QueuedPair x) {
    if (!ARRAY_ROOM(p->queue, p->queued, p->room, FIRST_PAIRS)) {
        p->failed = true;
        return;
    }
    size_t i = p->queued++;
    for (; i && counts_before(x, p->queue[(i - 1) / 2]); i = (i - 1) / 2)
        p->queue[i] = p->queue[(i - 1) / 2];
    p->queue[i] = x;
}

static QueuedPair pop(PairCounts *p) {
    QueuedPair top = p->queue[0], last = p->queue[--p->queued];
    size_t i = 0;
    for (size_t k = 1; k < p->queued; k = 2 * i + 1) {
        if (k + 1 < p->queued && counts_before(p->queue[k + 1], p->queue[k])) k++;
        if (!counts_before(p->queue[k], last)) break;
        p->queue[i] = p->queue[k];
        i = k;
    }
    p->queue[i] = last;
    return top;
}

void pair_counts_queue(PairCounts *p) {
    for (size_t i = 0; i < p->raises; i++) {
        TokenPair *x = counts_find(p, p->raised[i]);
        x->raised = false;
        if (x->count > 0) counts_push(p, (QueuedPair){ x->count, x->key });
    }
    p->raises = 0;
}

static int counts_by_place(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

bool pair_counts_next(PairCounts *p, TokenPair *next) {
    while (p->queued && !p->failed) {
        QueuedPair top = pop(p);
        TokenPair *x = counts_find(p, top.key);
        if (x->count != top.count) {
            if (x->count > 0) counts_push(p, (QueuedPair){ x->count, x->key });
            continue;
        }
        if (!x->sorted) qsort(x->at, (size_t)x->places, sizeof *x->at, counts_by_place);
        *next = *x;
        *x = (TokenPair){ .key = x->key, .used = true, .sorted = true };
        return true;
    }
    return false;
}

void pair_counts_free(PairCounts *p) {
    for (size_t i = 0; i < p->slots; i++)
        free(p->pair[i].at);
    free(p->pair);
    free(p->queue);
    free(p->raised);
    *p = (PairCounts){ 0 };
}
