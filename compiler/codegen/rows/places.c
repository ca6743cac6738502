/* SPDX-License-Identifier: MIT
** See places.h.
*/
#include "places.h"

#include "sizes.h"

int32_t place_area(Space s) {
    switch (s) {
    case SPACE_WEIGHT: return AREA_WEIGHT;
    case SPACE_GRADIENT: return AREA_GRADIENT;
    case SPACE_TOKEN: return AREA_TOKEN;
    case SPACE_LOCAL: return AREA_LOCAL;
    case SPACE_GRANULE: return AREA_GRANULE;
    case SPACE_CONSTANT: return AREA_CONSTANT;
    case SPACE_TABLE: return AREA_TABLE;
    case SPACE_LOGITS: return AREA_LOGITS;
    default: return AREA_NONE;
    }
}

static Ref place_source(const Plan *p, const Node *n) {
    switch (n->op) {
    case OP_param: return (Ref){ AREA_WEIGHT, 0, p->place[n->id] };
    case OP_statistic: return (Ref){ AREA_GRADIENT, 0, p->place[n->id] };
    case OP_seed: return (Ref){ AREA_UNIFORM, 0, 0 };
    case OP_per_token: return (Ref){ AREA_UNIFORM, 0, 1 };
    case OP_sampling: return (Ref){ AREA_UNIFORM, 0, 2 };
    case OP_tokens: return (Ref){ AREA_TOKENS, 1, 0 };
    case OP_targets: return (Ref){ AREA_TARGETS, 1, 0 };
    case OP_position: return (Ref){ AREA_POSITION, 1, 0 };
    case OP_gather: return (Ref){ AREA_LIST_POSITION, 1, n->shape.list };
    case OP_wave: return (Ref){ AREA_TABLE, (int32_t)wave_stride(n->attr->count), p->place[n->id] };
    default: return (Ref){ AREA_NONE, 0, 0 };
    }
}

Ref place_gradient(const Plan *p, const Node *param) {
    return (Ref){ p->rules ? AREA_MOMENT : AREA_GRADIENT, 0, p->place[param->id] };
}

/* The parameter whose gradient a node is added to directly. */
static const Node *gradient_of(const Plan *p, const Node *n) {
    int part = p->part_of[n->id];
    if (part < 0) bug(n, "is no gradient");
    return p->part[part].param;
}

Ref place_of(const Plan *p, const Node *n) {
    n = plan_storage(n);
    const Buffer *b = p->buffer[n->id];
    if (!b) return place_source(p, n);
    if (b->space == SPACE_GRADIENT) return place_gradient(p, gradient_of(p, n));
    return (Ref){ place_area(b->space), (int32_t)b->stride, b->offset };
}

Ref place_side(const Plan *p, const Node *n, int result) {
    for (int i = p->next_side[n->id]; i >= 0; i = p->next_side[i]) {
        const Node *s = p->g->node[i];
        if (s->attr->first == result && p->buffer[i]) return place_of(p, s);
    }
    return (Ref){ AREA_NONE, 0, 0 };
}
