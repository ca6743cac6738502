/* SPDX-License-Identifier: MIT
** Texts of a pool, each once. */
#include "pool_parts.h"

#include <string.h>

static bool pool_same_text(const void *item, const void *key) { return !strcmp(item, key); }

static uint64_t hash_text(const char *s, size_t length) {
    return hash_word(HASH_START, hash_bytes(HASH_START, s, length));
}

const char *pool_find(const Pool *p, const char *s) {
    return table_find(&p->texts, hash_text(s, strlen(s)), pool_same_text, s);
}

const char *pool_text(Pool *p, const char *s) {
    size_t length = strlen(s);
    uint64_t hash = hash_text(s, length);
    char *text = table_find(&p->texts, hash, pool_same_text, s);
    if (text) return text;
    text = arena_take(&p->mem, length + 1);
    memcpy(text, s, length + 1);
    table_add(&p->texts, hash, text);
    return text;
}
