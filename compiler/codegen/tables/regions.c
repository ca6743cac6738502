/* SPDX-License-Identifier: MIT
** What a --check build knows of its arena: the region of every value, the steps that write it
** first and read it last, and the size that every reference of an action may access.  Such a build
** does not share memory, so a region belongs to one value (or to the first of values computed in
** place).
*/
#include "tables.h"

/* Actions and stages are numbered through all programs: those of this one begin at
** 'action' and out->phase.  What lives to the last phase is for the caller to read. */
static void add_region(TableBytes *b, const Plan *p, const ModelProgram *out, const Buffer *of,
                       int action) {
    int32_t area = of && !of->into ? place_area(of->space) : AREA_NONE;
    if (area < AREA_TOKEN || area > AREA_CONSTANT) return;
    int phase = p->step[of->last].phase;
    bool stays = area == AREA_LOCAL || phase == p->nphase - 1;
    *(CheckRegion *)list_add(&b->region, sizeof(CheckRegion)) = (CheckRegion){
        .area = area,
        .stride = (int32_t)of->stride,
        .guard = (int32_t)plan_guard(p, of->space),
        .first = action + of->first,
        .last = action + of->last,
        .stage = stays ? -1 : out->phase + phase,
        .offset = of->offset,
    };
}

void regions_add(TableBytes *b, const Plan *p, ModelProgram *out) {
    out->region = b->region.n;
    for (int i = 0; i < p->g->n; i++) {
        add_region(b, p, out, p->buffer[i], b->action.n);
        add_region(b, p, out, p->partial[i], b->action.n);
    }
    out->regions = b->region.n - out->region;
}

static int32_t find_region(const TableBytes *b, const ModelProgram *out, const Ref *ref) {
    for (int i = out->region; i < out->region + out->regions; i++) {
        const CheckRegion *r = &LIST(b->region, CheckRegion, i);
        if (r->area == ref->area && r->offset == ref->offset) return i;
    }
    return -1;
}

void regions_reach(TableBytes *b, const ModelProgram *out, const Action *a, const Rows *rows) {
    for (int i = 0; i < a->refs; i++) {
        const Ref *ref = &LIST(b->ref, Ref, a->ref + i);
        Reach *r = list_add(&b->reach, sizeof *r);
        r->region = find_region(b, out, ref);
        if (!rows) continue;
        /* a granule's sums are cleared in whole rows; positions have no node */
        const Node *n = rows->operand[i].node;
        int64_t floats = n
            ? plan_bf16(n) ? (shape_count(&n->shape) + 1) / 2 : shape_count(&n->shape)
            : 1;
        r->floats = ref->area == AREA_GRANULE ? ref->stride : floats;
    }
}
