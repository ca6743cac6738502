/* SPDX-License-Identifier: MIT
** Memory of a Lua state.  Lua passes the size of a block when it frees it, and it allocates and
** frees millions of small blocks: these come from free lists by size.
*/
#ifndef STRATA_SPEC_HEAP_H
#define STRATA_SPEC_HEAP_H

#include <stddef.h>

enum { HEAP_STEP = 16, HEAP_SIZES = 16 };

typedef struct HeapPiece {
    struct HeapPiece *next;
} HeapPiece;

typedef struct Heap {
    HeapPiece *left[HEAP_SIZES]; /* given back, by size */
    HeapPiece *chunk;            /* what small blocks are cut from, newest first */
    char *at;
    size_t room;
} Heap;

/* As realloc, with the size that the block has had; 'size' is not 0. */
void *heap_resize(Heap *h, void *p, size_t old, size_t size);
void heap_give(Heap *h, void *p, size_t size);
void heap_close(Heap *h); /* small blocks that were not given back go, too */

#endif
