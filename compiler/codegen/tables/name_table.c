/* SPDX-License-Identifier: MIT
** See name_table.h. */
#include "name_table.h"
#include "fatal.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(const char *s) {
    return hash_word(HASH_START, hash_bytes(HASH_START, s, strlen(s)));
}

/* Its entry, or the free one where it would be. */
static NameEntry *entry_of(const NameTable *t, const char *text, uint64_t hash) {
    size_t i = hash & (t->cap - 1);
    while (t->entry[i].text && (t->entry[i].hash != hash || strcmp(t->entry[i].text, text)))
        i = (i + 1) & (t->cap - 1);
    return &t->entry[i];
}

static void name_table_grow(NameTable *t) {
    NameTable old = *t;
    t->cap = old.cap ? 2 * old.cap : 64;
    t->entry = checked_new(t->cap, sizeof *t->entry);
    for (size_t i = 0; i < old.cap; i++)
        if (old.entry[i].text) *entry_of(t, old.entry[i].text, old.entry[i].hash) = old.entry[i];
    free(old.entry);
}

void name_table_add(NameTable *t, const char *text, int value) {
    uint64_t hash = hash_text(text);
    if (2 * (t->n + 1) > t->cap) name_table_grow(t);
    *entry_of(t, text, hash) = (NameEntry){ hash, text, value };
    t->n++;
}

int name_table_find(const NameTable *t, const char *text) {
    if (!t->cap) return -1;
    const NameEntry *e = entry_of(t, text, hash_text(text));
    return e->text ? e->value : -1;
}

void name_table_free(NameTable *t) { free(t->entry); }
