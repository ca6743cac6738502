/* SPDX-License-Identifier: MIT
** See pool.h. */
#include "pool.h"
#include "arena.h"
#include "fatal.h"
#include "op.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

struct Pool {
    int graphs;
    Arena mem;
    Table texts, attrs;
};

Pool *pool_new(void) {
    Pool *p = checked_new(1, sizeof *p);
    p->graphs = 1;
    return p;
}

Pool *pool_share(Pool *p) {
    p->graphs++;
    return p;
}

void pool_leave(Pool *p) {
    if (--p->graphs) return;
    table_free(&p->texts);
    table_free(&p->attrs);
    arena_free(&p->mem);
    free(p);
}

/* == Texts ================================================================ */

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

/* == Attributes =========================================================== */

typedef struct KeptAttr {
    Attr attr;
    AttrKind kind;
} KeptAttr;

static bool same_attr(const void *item, const void *key) {
    const KeptAttr *a = item, *b = key;
    return a->kind == b->kind && attr_same(a->kind, &a->attr, &b->attr);
}

const Attr *pool_attr(Pool *p, Op op, const Attr *a) {
    KeptAttr key = { .kind = op_info[op].attr };
    key.attr = attr_canonical(p, key.kind, a);
    uint64_t hash = attr_hash(hash_word(HASH_START, key.kind), key.kind, &key.attr);
    KeptAttr *kept = table_find(&p->attrs, hash, same_attr, &key);
    if (!kept) {
        kept = arena_take(&p->mem, sizeof *kept);
        *kept = key;
        attr_own(&p->mem, key.kind, &kept->attr);
        table_add(&p->attrs, hash, kept);
    }
    return &kept->attr;
}
