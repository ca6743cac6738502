/* See arena.h. */
#include "arena.h"
#include "fatal.h"

#include <stdint.h>
#include <stdlib.h>

#define ARENA_BLOCK ((size_t)1 << 18)

struct ArenaBlock {
    ArenaBlock *next;
    max_align_t data[];
};

static void grow(Arena *a, size_t size) {
    size_t bytes = size > ARENA_BLOCK ? size : ARENA_BLOCK;
    ArenaBlock *b = checked_new(1, sizeof *b + bytes);
    b->next = a->block;
    a->block = b;
    a->at = (char *)b->data;
    a->left = bytes;
}

void *arena_take(Arena *a, size_t size) {
    if (size > PTRDIFF_MAX / 2) checked(NULL);
    size = (size + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    if (size > a->left) grow(a, size);
    void *p = a->at;
    a->at += size;
    a->left -= size;
    return p;
}

void arena_free(Arena *a) {
    for (ArenaBlock *b = a->block, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (Arena){ 0 };
}
