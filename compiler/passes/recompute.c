/*
** Recomputation: what the backward part reads of the forward part.
**
** Kept for it are outputs of anchors, values that pass from one row kernel to
** a later one or into a sequence kernel (they are stored anyway), and a few
** numbers a token that were summed up from many, such as the logits of a depth
** read or the size of a norm's input.  Everything else is a row value that is
** cheap to compute again from those, a chain of operations on a few numbers too
** (softmax, Sinkhorn's iterations): the backward part gets a twin of it
** (attr.copy = 1), which the scheduler fuses into the kernel that needs it.
*/
#include "plan.h"
#include "rebuild.h"
#include "slots.h"

enum { SMALL = 64 };

bool plan_small(const Node *n) {
    return shape_count(&n->shape) <= SMALL;
}

typedef struct Recompute {
    const Slots *slots;
    bool *kept;
    Node **twin;            /* by old id */
} Recompute;

/* Marks row values which some later kernel of the forward part reads. */
static void find_kept(const Graph *g, Recompute *r) {
    const Slots *s = r->slots;
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (!s->needed[i] || n->backward) continue;
        for (int k = 0; k < n->nin; k++) {
            const Node *x = n->in[k];
            if (s->domain[x->id] != DOMAIN_ROW) continue;
            bool later = s->domain[i] == DOMAIN_ROW && s->time[i] != s->time[x->id];
            if (later || s->domain[i] == DOMAIN_GLOBAL) r->kept[plan_storage(x)->id] = r->kept[x->id] = true;
        }
    }
}

/* A few numbers that took a pass over many. */
static bool is_summary(const Node *n) {
    return plan_small(n) && op_info[n->op].class == REDUCE && !plan_small(n->in[0]);
}

static Node *twin(Rebuild *b, const Node *old) {
    Recompute *r = b->user;
    if (old->backward || r->slots->domain[old->id] != DOMAIN_ROW || r->kept[old->id]
        || is_summary(old))
        return b->map[old->id];
    if (r->twin[old->id]) return r->twin[old->id];
    Node **in = graph_alloc(b->to, ((size_t)old->nin + 1) * sizeof *in);
    for (int i = 0; i < old->nin; i++) in[i] = twin(b, old->in[i]);
    Attr attr = old->attr;
    attr.copy = 1;
    return r->twin[old->id] = rebuild_copy(b, old, in, attr);
}

static Node *rule(Rebuild *b, const Node *old, Node **in) {
    if (!old->backward) return NULL;
    for (int i = 0; i < old->nin; i++)
        if (!old->in[i]->backward) in[i] = twin(b, old->in[i]);
    return NULL;
}

Graph *pass_recompute(Graph *g) {
    size_t n = (size_t)g->n + 1;
    Recompute r = { .slots = slots_find(g, true) };
    r.kept = graph_alloc(g, n);
    r.twin = graph_alloc(g, n * sizeof *r.twin);
    find_kept(g, &r);
    return rebuild(g, rule, &r);
}
