/*
** What a --check build knows of its arena: the region of every value, with the
** steps that write it first and read it last, and for every reference of an
** action how far it goes.  Memory is not shared in such a build, so a region is
** one value's (or, of values computed in place, that of the first).
*/
#include "tables.h"

static int32_t area_of(Space s) {
    switch (s) {
    case SPACE_TOKEN: return AREA_TOKEN;
    case SPACE_LOCAL: return AREA_LOCAL;
    case SPACE_GRANULE: return AREA_GRANULE;
    case SPACE_CONSTANT: return AREA_CONSTANT;
    default: return AREA_NONE;
    }
}

/* Actions and stages are numbered through all programs: those of this one begin at
** 'action' and out->phase.  What lives to the last phase is for the caller to read. */
static void add_region(Tables *t, const Plan *p, const Program *out, const Buffer *b, int action) {
    int32_t area = b && !b->into ? area_of(b->space) : AREA_NONE;
    if (area == AREA_NONE) return;
    int phase = p->step[b->last].phase;
    bool kept = area == AREA_LOCAL || phase == p->nphase - 1;
    *(Region *)list_add(&t->region, sizeof(Region)) = (Region){
        .area = area,
        .stride = (int32_t)b->stride,
        .guard = (int32_t)plan_guard(p, b->space),
        .first = action + b->first,
        .last = action + b->last,
        .stage = kept ? -1 : out->phase + phase,
        .offset = b->offset,
    };
}

void regions_add(Tables *t, const Plan *p, Program *out) {
    out->region = t->region.n;
    for (int i = 0; i < p->g->n; i++) {
        add_region(t, p, out, p->buffer[i], t->action.n);
        add_region(t, p, out, p->partial[i], t->action.n);
    }
    out->regions = t->region.n - out->region;
}

static int32_t find_region(const Tables *t, const Program *out, const Ref *ref) {
    for (int i = out->region; i < out->region + out->regions; i++) {
        const Region *r = &LIST(t->region, Region, i);
        if (r->area == ref->area && r->offset == ref->offset) return i;
    }
    return -1;
}

void regions_reach(Tables *t, const Program *out, const Action *a, const Rows *rows) {
    for (int i = 0; i < a->refs; i++) {
        const Ref *ref = &LIST(t->ref, Ref, a->ref + i);
        Reach *r = list_add(&t->reach, sizeof *r);
        r->region = find_region(t, out, ref);
        if (!rows) continue;
        /* a granule's sums are cleared in whole rows; positions have no node */
        const Node *n = rows->operand[i].node;
        int64_t floats = n
            ? plan_half(n) ? (shape_count(&n->shape) + 1) / 2 : shape_count(&n->shape)
            : 1;
        r->floats = ref->area == AREA_GRANULE ? ref->stride : floats;
    }
}
