/* SPDX-License-Identifier: MIT
** Merging: few symbols by looking at all of them, many by a heap; see merge.h. */
#include "merge.h"
#include "array.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 24 };

void merge_add(MergeWork *w, int32_t id, uint32_t from, uint32_t length) {
    if (!ARRAY_ROOM(w->symbol, w->count, w->room, 256)) {
        w->failed = true;
        return;
    }
    w->symbol[w->count++] = (MergeSymbol){ .id = id, .from = from, .length = length };
}

void merge_free(MergeWork *w) {
    free(w->symbol);
    free(w->heap);
    *w = (MergeWork){ 0 };
}

/* What a and b, which follow each other, make. */
static inline void merge_look(const MergeRule *rule, const char *text, MergeSymbol *a,
                              const MergeSymbol *b) {
    a->rank = UINT32_MAX;
    if (rule->pairs) {
        const PairSlot *s = pairs_find(rule->pairs, pair_key(a->id, b->id));
        if (!s) return;
        a->rank = s->rank;
        a->merged = s->id;
    } else if (!a->frozen && !b->frozen) {
        a->merged = vocabulary_find(rule->pieces, text + a->from, a->length + b->length);
        if (a->merged >= 0) a->rank = rule->rank[a->merged];
    }
}

static void merge_few(MergeWork *w, const MergeRule *rule, const char *text) {
    MergeSymbol *s = w->symbol;
    size_t n = w->count;
    for (size_t i = 0; i + 1 < n; i++)
        merge_look(rule, text, &s[i], &s[i + 1]);
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (s[i].rank < s[best].rank) best = i;
        if (s[best].rank == UINT32_MAX) break;
        s[best].id = s[best].merged;
        s[best].length += s[best + 1].length;
        memmove(&s[best + 1], &s[best + 2], (n - best - 2) * sizeof *s);
        n--;
        if (best + 1 < n) merge_look(rule, text, &s[best], &s[best + 1]);
        if (best) merge_look(rule, text, &s[best - 1], &s[best]);
    }
    w->count = n;
}

/* == The heap ============================================================= */

static void sink(MergeWork *w, size_t i) {
    MergeCandidate *h = w->heap, x = h[i];
    for (size_t child; (child = 2 * i + 1) < w->held; i = child) {
        if (child + 1 < w->held && h[child + 1].order < h[child].order) child++;
        if (h[child].order >= x.order) break;
        h[i] = h[child];
    }
    h[i] = x;
}

static void merge_push(MergeWork *w, MergeCandidate x) {
    if (!ARRAY_ROOM(w->heap, w->held, w->heap_room, 256)) {
        w->failed = true;
        return;
    }
    size_t i = w->held++;
    for (; i && w->heap[(i - 1) / 2].order > x.order; i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = x;
}

static void merge_offer(MergeWork *w, const MergeRule *rule, const char *text, int32_t left) {
    MergeSymbol *a = &w->symbol[left];
    const MergeSymbol *b = &w->symbol[a->after];
    merge_look(rule, text, a, b);
    if (a->rank == UINT32_MAX) return;
    merge_push(w,
               (MergeCandidate){ (uint64_t)a->rank << 32 | (uint32_t)left, a->length + b->length,
                                 a->merged });
}

/* Candidates whose symbols became others meanwhile have another length, or none. */
static void merge_take(MergeWork *w, const MergeRule *rule, const char *text) {
    MergeCandidate x = w->heap[0];
    w->heap[0] = w->heap[--w->held];
    if (w->held) sink(w, 0);
    int32_t left = (int32_t)(uint32_t)x.order;
    MergeSymbol *a = &w->symbol[left];
    if (!a->length || a->after < 0) return;
    MergeSymbol *b = &w->symbol[a->after];
    if (a->length + b->length != x.length) return;
    a->id = x.merged;
    a->length = x.length;
    b->length = 0;
    a->after = b->after;
    if (a->after >= 0) w->symbol[a->after].before = left;
    if (a->before >= 0) merge_offer(w, rule, text, a->before);
    if (a->after >= 0) merge_offer(w, rule, text, left);
}

static void merge_many(MergeWork *w, const MergeRule *rule, const char *text) {
    size_t n = w->count, kept = 0;
    for (size_t i = 0; i < n; i++) {
        w->symbol[i].before = (int32_t)i - 1;
        w->symbol[i].after = i + 1 < n ? (int32_t)i + 1 : -1;
    }
    w->held = 0;
    for (size_t i = 0; i + 1 < n; i++)
        merge_offer(w, rule, text, (int32_t)i);
    while (w->held && !w->failed)
        merge_take(w, rule, text);
    for (size_t i = 0; i < n; i++)
        if (w->symbol[i].length) w->symbol[kept++] = w->symbol[i];
    w->count = kept;
}

void merge_all(MergeWork *w, const MergeRule *rule, const char *text) {
    if (w->failed || w->count < 2) return;
    if (w->count <= FEW) merge_few(w, rule, text);
    else merge_many(w, rule, text);
}
