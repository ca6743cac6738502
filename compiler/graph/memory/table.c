/* SPDX-License-Identifier: MIT
** See table.h. */
#include "table.h"
#include "fatal.h"
#include "pages.h"

#include <string.h>

enum { LEAST = 64 };

/* Entries that so many slots are for. */
#define TABLE_ITEMS(cap) ((cap) / 4 * 3)

static void free_memory(const Table *t) {
    pages_free(t->slot, t->cap * sizeof *t->slot);
    pages_free(t->item, TABLE_ITEMS(t->cap) * sizeof *t->item);
}

static uint32_t tag_of(uint64_t hash) { return (uint32_t)(hash ^ hash >> 32); }

void *table_find(const Table *t, uint64_t hash, TableSame *same, const void *key) {
    uint32_t tag = tag_of(hash);
    if (!t->cap) return NULL;
    for (size_t i = tag & (t->cap - 1); t->slot[i].item; i = (i + 1) & (t->cap - 1)) {
        if (t->slot[i].tag != tag) continue;
        void *item = t->item[t->slot[i].item - 1];
        if (same(item, key)) return item;
    }
    return NULL;
}

static void table_put(Table *t, TableSlot added) {
    size_t i = added.tag & (t->cap - 1);
    while (t->slot[i].item)
        i = (i + 1) & (t->cap - 1);
    t->slot[i] = added;
}

static void resize(Table *t, size_t cap) {
    Table old = *t;
    t->cap = cap;
    t->slot = pages_take(cap * sizeof *t->slot);
    t->item = pages_take(TABLE_ITEMS(cap) * sizeof *t->item);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slot[i].item) table_put(t, old.slot[i]);
    if (old.n) memcpy(t->item, old.item, old.n * sizeof *t->item);
    free_memory(&old);
}

void table_reserve(Table *t, size_t n) {
    size_t cap = t->cap ? t->cap : LEAST;
    while (TABLE_ITEMS(cap) < n)
        cap *= 2;
    if (cap > t->cap) resize(t, cap);
}

void table_add(Table *t, uint64_t hash, void *item) {
    if (t->n == TABLE_ITEMS(t->cap)) table_reserve(t, t->n + 1);
    if (t->n == UINT32_MAX) limit_hit("expected fewer than 2^32 entries of a table, found more");
    t->item[t->n++] = item;
    table_put(t, (TableSlot){ tag_of(hash), (uint32_t)t->n });
}

void table_free(Table *t) {
    free_memory(t);
    *t = (Table){ 0 };
}

uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
    const char *p = data;
    uint64_t word;
    hash = hash_word(hash, size);
    for (; size >= sizeof word; p += sizeof word, size -= sizeof word) {
        memcpy(&word, p, sizeof word);
        hash = hash_word(hash, word);
    }
    word = 0;
    memcpy(&word, p, size);
    return hash_word(hash, word);
}

uint64_t hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}
