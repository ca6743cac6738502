/*
** The arena of a graph and interned names.  Blocks are zeroed when taken and freed together.
*/
#include "fatal.h"
#include "op.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

#define ARENA_BLOCK ((size_t)1 << 18)

typedef struct ArenaBlock {
    struct ArenaBlock *next;
    max_align_t data[];
} ArenaBlock;

struct Arena {
    ArenaBlock *block;
    char *at; /* free bytes of the first block */
    size_t left;
};

static void arena_grow(struct Arena *mem, size_t size) {
    size_t bytes = size > ARENA_BLOCK ? size : ARENA_BLOCK;
    ArenaBlock *b = checked_new(1, sizeof *b + bytes);
    b->next = mem->block;
    mem->block = b;
    mem->at = (char *)b->data;
    mem->left = bytes;
}

void *graph_alloc(Graph *g, size_t size) {
    struct Arena *mem = g->mem;
    if (size > PTRDIFF_MAX / 2) checked(NULL);
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (size > mem->left) arena_grow(mem, size);
    void *p = mem->at;
    mem->at += size;
    mem->left -= size;
    return p;
}

Graph *graph_new(void) {
    Graph *g = checked_new(1, sizeof *g);
    g->mem = checked_new(1, sizeof *g->mem);
    g->interned = graph_alloc(g, sizeof *g->interned);
    g->names = graph_alloc(g, sizeof *g->names);
    return g;
}

void graph_free(Graph *g) {
    if (!g) return;
    for (ArenaBlock *b = g->mem->block, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(g->mem);
    free(g);
}

const char *graph_format(Graph *g, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int length = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *s = graph_alloc(g, (size_t)length + 1);
    vsnprintf(s, (size_t)length + 1, fmt, again);
    va_end(again);
    return s;
}

/* == Hash tables: open addressing, at most half full ====================== */

void **table_find(const Table *t, uint64_t hash, TableSame *same, const void *key) {
    if (!t->cap) return NULL;
    for (size_t i = hash & (t->cap - 1); t->item[i]; i = (i + 1) & (t->cap - 1))
        if (t->hash[i] == hash && same(t->item[i], key)) return &t->item[i];
    return NULL;
}

static void table_put(Table *t, uint64_t hash, void *item) {
    size_t i = hash & (t->cap - 1);
    while (t->item[i])
        i = (i + 1) & (t->cap - 1);
    t->item[i] = item;
    t->hash[i] = hash;
}

void table_add(Graph *g, Table *t, uint64_t hash, void *item) {
    if (2 * (t->n + 1) > t->cap) {
        Table old = *t;
        t->cap = old.cap ? 2 * old.cap : 256;
        t->item = graph_alloc(g, t->cap * sizeof *t->item);
        t->hash = graph_alloc(g, t->cap * sizeof *t->hash);
        for (size_t i = 0; i < old.cap; i++)
            if (old.item[i]) table_put(t, old.hash[i], old.item[i]);
    }
    table_put(t, hash, item);
    t->n++;
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

/* == Names ================================================================ */

static bool same_name(const void *item, const void *key) {
    return !strcmp(((const Name *)item)->text, key);
}

static uint64_t hash_name(const char *s) {
    return hash_word(HASH_START, hash_bytes(HASH_START, s, strlen(s)));
}

Name *graph_name_find(const Graph *g, const char *s) {
    void **found = table_find(g->names, hash_name(s), same_name, s);
    return found ? *found : NULL;
}

Name *graph_name(Graph *g, const char *s) {
    Name *name = graph_name_find(g, s);
    if (name) return name;
    size_t length = strlen(s);
    name = graph_alloc(g, sizeof *name + length + 1);
    memcpy(name->text, s, length + 1);
    table_add(g, g->names, hash_name(s), name);
    return name;
}

const char *graph_string(Graph *g, const char *s) { return s ? graph_name(g, s)->text : NULL; }

Loc graph_loc(Graph *g, Loc loc) {
    loc.file = graph_string(g, loc.file);
    loc.origin = graph_string(g, loc.origin);
    return loc;
}
