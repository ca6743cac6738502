/* SPDX-License-Identifier: MIT
** See pool.h. */
#include "pool_parts.h"
#include "fatal.h"
#include "op.h"

#include <stdlib.h>
#include <string.h>

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
