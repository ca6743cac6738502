/*
** The hash tables of a graph: pointers to interned things, found by hash and
** a comparison of the owner's.  Never shrinks; lives in the graph's arena.
*/
#ifndef STRATA_GRAPH_TABLE_H
#define STRATA_GRAPH_TABLE_H

#include "graph.h"

typedef struct Table {
    void **item;
    uint64_t *hash;
    size_t cap, n; /* cap: 0 or a power of two */
} Table;

typedef bool TableSame(const void *item, const void *key);

#define HASH_START 14695981039346656037u

void **table_find(const Table *t, uint64_t hash, TableSame *same, const void *key);
void table_add(Graph *g, Table *t, uint64_t hash, void *item);
uint64_t hash_bytes(uint64_t hash, const void *data, size_t size);
uint64_t hash_word(uint64_t hash, uint64_t word);

#endif
