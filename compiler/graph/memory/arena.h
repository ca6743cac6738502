/* SPDX-License-Identifier: MIT
** Memory that is freed together.  What is taken is zeroed. */
#ifndef STRATA_GRAPH_ARENA_H
#define STRATA_GRAPH_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *block;
    char *at; /* free bytes of the first block */
    size_t left;
    bool used; /* the first block was used before: its free bytes are not zeros */
} Arena;

void *arena_take(Arena *a, size_t size); /* ends the program if there is no memory */
void arena_free(Arena *a);

#endif
