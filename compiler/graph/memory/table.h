/* SPDX-License-Identifier: MIT
** Hash tables for a graph and its pool: pointers to interned objects, found by hash and by the
** owner's comparison.  They never shrink.
*/
#ifndef STRATA_GRAPH_TABLE_H
#define STRATA_GRAPH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct TableSlot {
    uint32_t tag;  /* of the hash */
    uint32_t item; /* from 1 on; 0: free */
} TableSlot;

/* Slots are looked at at random, and are small so that more of them are in the cache. */
typedef struct Table {
    TableSlot *slot; /* open addressing, at most three quarters full */
    void **item;     /* in the order in which they were added */
    size_t cap, n;   /* cap: of slots, 0 or a power of two */
} Table;

typedef bool TableSame(const void *item, const void *key);

#define HASH_START 14695981039346656037u

void *table_find(const Table *t, uint64_t hash, TableSame *same, const void *key); /* or NULL */
void table_reserve(Table *t, size_t n); /* room for so many in all */
void table_add(Table *t, uint64_t hash, void *item);
void table_free(Table *t); /* empties it, too */
uint64_t hash_bytes(uint64_t hash, const void *data, size_t size);
uint64_t hash_word(uint64_t hash, uint64_t word);

#endif
