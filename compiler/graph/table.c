/* SPDX-License-Identifier: MIT
** See table.h. */
#include "table.h"
#include "pages.h"

void *table_find(const Table *t, uint64_t hash, TableSame *same, const void *key) {
    if (!t->cap) return NULL;
    for (size_t i = hash & (t->cap - 1); t->slot[i].item; i = (i + 1) & (t->cap - 1))
        if (t->slot[i].hash == hash && same(t->slot[i].item, key)) return t->slot[i].item;
    return NULL;
}

static void put(Table *t, TableSlot added) {
    size_t i = added.hash & (t->cap - 1);
    while (t->slot[i].item)
        i = (i + 1) & (t->cap - 1);
    t->slot[i] = added;
}

void table_add(Table *t, uint64_t hash, void *item) {
    if (2 * (t->n + 1) > t->cap) {
        Table old = *t;
        t->cap = old.cap ? 2 * old.cap : 64;
        t->slot = pages_take(t->cap * sizeof *t->slot);
        for (size_t i = 0; i < old.cap; i++)
            if (old.slot[i].item) put(t, old.slot[i]);
        pages_free(old.slot, old.cap * sizeof *old.slot);
    }
    put(t, (TableSlot){ hash, item });
    t->n++;
}

void table_free(Table *t) {
    pages_free(t->slot, t->cap * sizeof *t->slot);
    *t = (Table){ 0 };
}

uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 1099511628211u;
    return hash;
}

uint64_t hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}
