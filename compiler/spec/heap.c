/* SPDX-License-Identifier: MIT
** See heap.h. */
#include "heap.h"

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 };

/* The address sanitizer watches malloc's blocks, not pieces of them. */
static bool is_small(size_t size) {
#ifdef __SANITIZE_ADDRESS__
    (void)size;
    return false;
#else
    return size <= HEAP_STEP * HEAP_SIZES;
#endif
}
static size_t heap_list_of(size_t size) { return (size - 1) / HEAP_STEP; }

static void *take_small(Heap *h, size_t size) {
    size_t list = heap_list_of(size), whole = (list + 1) * HEAP_STEP;
    HeapPiece *p = h->left[list];
    if (p) {
        h->left[list] = p->next;
        return p;
    }
    if (h->room < whole) {
        HeapPiece *chunk = malloc(CHUNK);
        if (!chunk) return NULL;
        chunk->next = h->chunk;
        h->chunk = chunk;
        h->at = (char *)chunk + HEAP_STEP; /* behind the link, as aligned as the chunk */
        h->room = CHUNK - HEAP_STEP;
    }
    void *at = h->at;
    h->at += whole;
    h->room -= whole;
    return at;
}

void heap_give(Heap *h, void *p, size_t size) {
    if (!p || !is_small(size)) {
        free(p);
        return;
    }
    HeapPiece *piece = p;
    piece->next = h->left[heap_list_of(size)];
    h->left[heap_list_of(size)] = piece;
}

void *heap_resize(Heap *h, void *p, size_t old, size_t size) {
    static_assert(HEAP_STEP % alignof(max_align_t) == 0, "blocks are aligned for anything");
    if (!p) return is_small(size) ? take_small(h, size) : malloc(size);
    if (!is_small(old) && !is_small(size)) return realloc(p, size);
    if (is_small(old) && is_small(size) && heap_list_of(old) == heap_list_of(size)) return p;
    void *q = is_small(size) ? take_small(h, size) : malloc(size);
    if (!q) return NULL;
    memcpy(q, p, old < size ? old : size);
    heap_give(h, p, old);
    return q;
}

void heap_close(Heap *h) {
    for (HeapPiece *c = h->chunk, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *h = (Heap){ 0 };
}
