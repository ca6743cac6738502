/* SPDX-License-Identifier: MIT
** Attributes of nodes: which fields of an Attr an operation uses, and when two Attrs are equal.
** Each function loops over the fields of the operation's kind (attrs.def).
*/
#include "arena.h"
#include "op.h"
#include "pool.h"

#include <string.h>

#include "table.h"

static const AttrField field[][MAXFIELDS + 1] = {
#define FIELD(member, type, text, otherwise) \
    { FIELD_##type, offsetof(Attr, member), sizeof((Attr){ 0 }.member), text, otherwise },
#define KIND(kind, ...) [kind] = { __VA_ARGS__{ .type = FIELD_END } },
#include "attrs.def"
};

const AttrField *attr_fields(AttrKind kind) { return field[kind]; }

static const void *attr_member(const Attr *a, const AttrField *f) {
    return (const char *)a + f->at;
}

static Shape shape_canonical(const Shape *s, bool inner) {
    Shape r = { .rank = s->rank };
    if (!inner) {
        r.lead = s->lead;
        r.type = s->type;
        r.list = s->lead == LEAD_TOKENS ? s->list : 0;
    }
    for (int i = 0; i < s->rank && i < MAXRANK; i++)
        r.dim[i] = s->dim[i];
    return r;
}

Attr attr_canonical(Pool *p, AttrKind kind, const Attr *a) {
    Attr r = { .copy = a->copy };
    for (const AttrField *f = attr_fields(kind); f->type; f++) {
        char *to = (char *)&r + f->at;
        memcpy(to, attr_member(a, f), f->size);
        switch (f->type) {
        case FIELD_TEXT:
            if (*(char **)to) *(const char **)to = pool_text(p, *(char **)to);
            break;
        case FIELD_SHAPE:
        case FIELD_INNER:
            *(Shape *)to = shape_canonical(attr_member(a, f), f->type == FIELD_INNER);
            break;
        case FIELD_LIST: r.count = a->count; break;
        default: break;
        }
    }
    return r;
}

static size_t list_bytes(const Attr *a, const AttrField *f) {
    return *(double *const *)attr_member(a, f) ? (size_t)a->count * sizeof(double) : 0;
}

void attr_own(Arena *mem, AttrKind kind, Attr *a) {
    for (const AttrField *f = attr_fields(kind); f->type; f++) {
        if (f->type != FIELD_LIST || !list_bytes(a, f)) continue;
        double **list = (double **)((char *)a + f->at);
        double *own = arena_take(mem, list_bytes(a, f));
        memcpy(own, *list, list_bytes(a, f));
        *list = own;
    }
}

/* == Interning ============================================================ */

/* Numbers are compared by their bits: 0 and -0 are different values. */
static bool same_field(const Attr *a, const Attr *b, const AttrField *f) {
    const void *x = attr_member(a, f), *y = attr_member(b, f);
    switch (f->type) {
    case FIELD_SHAPE:
    case FIELD_INNER: return shape_equal(x, y);
    case FIELD_LIST:
        if (list_bytes(a, f) != list_bytes(b, f) || a->count != b->count) return false;
        return !list_bytes(a, f) || !memcmp(*(void *const *)x, *(void *const *)y, list_bytes(a, f));
    default: return !memcmp(x, y, f->size);
    }
}

bool attr_same(AttrKind kind, const Attr *a, const Attr *b) {
    if (a->copy != b->copy) return false;
    for (const AttrField *f = attr_fields(kind); f->type; f++)
        if (!same_field(a, b, f)) return false;
    return true;
}

static uint64_t hash_shape(uint64_t h, const Shape *s) {
    h = hash_word(h,
                  (uint64_t)s->lead * 64 + (uint64_t)s->type * 16 + (uint64_t)s->rank
                      + ((uint64_t)s->list << 8));
    for (int i = 0; i < s->rank; i++)
        h = hash_word(h, (uint64_t)s->dim[i]);
    return h;
}

static uint64_t hash_field(uint64_t h, const Attr *a, const AttrField *f) {
    const void *x = attr_member(a, f);
    switch (f->type) {
    case FIELD_TEXT: return hash_bytes(h, *(char *const *)x, strlen(*(char *const *)x));
    case FIELD_SHAPE:
    case FIELD_INNER: return hash_shape(h, x);
    case FIELD_LIST:
        return hash_bytes(hash_word(h, (uint64_t)a->count), *(void *const *)x, list_bytes(a, f));
    default: return hash_bytes(h, x, f->size);
    }
}

uint64_t attr_hash(uint64_t h, AttrKind kind, const Attr *a) {
    h = hash_word(h, (uint64_t)a->copy);
    for (const AttrField *f = attr_fields(kind); f->type; f++)
        h = hash_field(h, a, f);
    return h;
}
