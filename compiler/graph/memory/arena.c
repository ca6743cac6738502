/* SPDX-License-Identifier: MIT
** See arena.h. */
#include "arena.h"
#include "fatal.h"
#include "pages.h"

#include <stdint.h>
#include <string.h>

/* Blocks grow with the arena. */
#define LEAST_BLOCK ((size_t)1 << 18)
#define MOST_BLOCK ((size_t)1 << 24)

struct ArenaBlock {
    ArenaBlock *next;
    size_t bytes;
    max_align_t data[];
};

static void arena_grow(Arena *a, size_t size) {
    size_t bytes = a->block ? 2 * a->block->bytes : LEAST_BLOCK;
    if (bytes > MOST_BLOCK) bytes = MOST_BLOCK;
    if (bytes < size + sizeof(ArenaBlock)) bytes = size + sizeof(ArenaBlock);
    ArenaBlock *b = pages_take_used(bytes, &a->used);
    b->bytes = bytes;
    b->next = a->block;
    a->block = b;
    a->at = (char *)b->data;
    a->left = bytes - sizeof *b;
}

void *arena_take(Arena *a, size_t size) {
    if (size > PTRDIFF_MAX / 2) checked(NULL);
    size = (size + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    if (size > a->left) arena_grow(a, size);
    void *p = a->at;
    a->at += size;
    a->left -= size;
    return a->used ? memset(p, 0, size) : p;
}

void arena_free(Arena *a) {
    for (ArenaBlock *b = a->block, *next; b; b = next) {
        next = b->next;
        pages_free(b, b->bytes);
    }
    *a = (Arena){ 0 };
}
