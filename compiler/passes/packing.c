/* SPDX-License-Identifier: MIT
** First fit in two dimensions, time and memory, for tens of thousands of values that all live in
** the middle of a training step.  Each node of a tree over time covers a span and has two lists of
** occupied memory ranges: 'whole' for values that live through the whole span but not through its
** parent's, 'some' for values that live in any part of it.  The memory that is occupied during any
** span of time is the union of a few of these lists.  The lists are short, because adjacent ranges
** are merged.
*/
#include "packing.h"
#include "array.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

/* == Ranges of memory ===================================================== */

typedef struct TakenRange {
    int64_t from, to;
} TakenRange;

/* Apart from each other, in order. */
typedef struct Taken {
    TakenRange *range;
    int n, cap;
} Taken;

/* The first range that ends after 'at'. */
static int range_after(const Taken *t, int64_t at) {
    int low = 0, high = t->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (t->range[middle].to > at) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* The lowest offset from 'at' on with room for 'size'. */
static int64_t room_from(const Taken *t, int64_t at, int64_t size) {
    for (int i = range_after(t, at); i < t->n && t->range[i].from - at < size; i++)
        at = t->range[i].to;
    return at;
}

/* Adds an occupied range and merges it with the ranges that it touches. */
static void packing_take(Taken *t, TakenRange new) {
    int first = range_after(t, new.from - 1), end = first;
    while (end < t->n && t->range[end].from <= new.to) {
        if (t->range[end].from < new.from) new.from = t->range[end].from;
        if (t->range[end].to > new.to) new.to = t->range[end].to;
        end++;
    }
    checked(ARRAY_ROOM(t->range, t->n, t->cap, 4) ? t->range : NULL);
    memmove(&t->range[first + 1], &t->range[end], (size_t)(t->n - end) * sizeof *t->range);
    t->n += first + 1 - end;
    t->range[first] = new;
}

/* == The tree ============================================================= */

typedef struct TimeSpan {
    Taken whole, some;
} TimeSpan;

typedef struct TimeTree {
    int *start; /* times at which values begin to live, in order: the leaves */
    int leaves, base;
    TimeSpan
        *span; /* node 1 is the root, 2i and 2i + 1 are the children of i, leaves from 'base' on */
    const Taken **taken;
} TimeTree;

static int by_number(const void *x, const void *y) {
    const int *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* The last leaf that starts at 'time' or before. */
static int leaf_at(const TimeTree *t, int time) {
    int low = 0, high = t->leaves;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (t->start[middle] <= time) low = middle;
        else high = middle;
    }
    return low;
}

static void tree_open(TimeTree *t, const PackItem *item, int n) {
    *t = (TimeTree){ .start = checked_new((size_t)n + 1, sizeof *t->start), .base = 1 };
    for (int i = 0; i < n; i++)
        t->start[i] = item[i].from;
    qsort(t->start, (size_t)n, sizeof *t->start, by_number);
    for (int i = 0; i < n; i++)
        if (!t->leaves || t->start[i] != t->start[t->leaves - 1])
            t->start[t->leaves++] = t->start[i];
    while (t->base < t->leaves)
        t->base *= 2;
    t->span = checked_new(2 * (size_t)t->base, sizeof *t->span);
    t->taken = checked_new(4 * 64, sizeof *t->taken);
}

static void tree_close(TimeTree *t) {
    for (int i = 0; i < 2 * t->base; i++)
        free(t->span[i].whole.range), free(t->span[i].some.range);
    free(t->start), free(t->span), free(t->taken);
}

/* The lowest offset that is free while the item lives. */
static int64_t find_place(const TimeTree *t, const PackItem *x) {
    int first = t->base + leaf_at(t, x->from), last = t->base + leaf_at(t, x->to), n = 0;
    for (int a = first, b = last; a; a /= 2, b /= 2) {
        t->taken[n++] = &t->span[a].whole;
        if (b != a) t->taken[n++] = &t->span[b].whole;
    }
    for (int a = first, b = last + 1; a < b; a /= 2, b /= 2) {
        if (a % 2) t->taken[n++] = &t->span[a++].some;
        if (b % 2) t->taken[n++] = &t->span[--b].some;
    }
    int64_t at = 0;
    for (int i = 0, agree = 0; agree < n; i = (i + 1) % n) {
        int64_t next = room_from(t->taken[i], at, x->size);
        agree = next == at ? agree + 1 : 1;
        at = next;
    }
    return at;
}

static void packing_take_place(TimeTree *t, const PackItem *x) {
    int first = t->base + leaf_at(t, x->from), last = t->base + leaf_at(t, x->to);
    TakenRange range = { x->b->offset, x->b->offset + x->size };
    for (int a = first, b = last; a; a /= 2, b /= 2) {
        packing_take(&t->span[a].some, range);
        if (b != a) packing_take(&t->span[b].some, range);
    }
    for (int a = first, b = last + 1; a < b; a /= 2, b /= 2) {
        if (a % 2) packing_take(&t->span[a].some, range), packing_take(&t->span[a++].whole, range);
        if (b % 2) packing_take(&t->span[--b].some, range), packing_take(&t->span[b].whole, range);
    }
}

/* == Packing ============================================================== */

static int by_size(const void *x, const void *y) {
    const PackItem *a = x, *b = y;
    if (a->size != b->size) return a->size < b->size ? 1 : -1;
    if (a->from != b->from) return a->from - b->from;
    return a->b->node->id - b->b->node->id;
}

int64_t pack_items(PackItem *item, int n, bool reuse) {
    TimeTree tree = { 0 };
    int64_t top = 0;
    qsort(item, (size_t)n, sizeof *item, by_size);
    if (reuse) tree_open(&tree, item, n);
    for (int i = 0; i < n; i++) {
        Buffer *b = item[i].b;
        b->offset = reuse ? find_place(&tree, &item[i]) : top;
        if (reuse) packing_take_place(&tree, &item[i]);
        if (b->offset + item[i].size > top) top = b->offset + item[i].size;
    }
    if (reuse) tree_close(&tree);
    return top;
}
