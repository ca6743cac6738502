/* SPDX-License-Identifier: MIT
** Recomputation: how the backward part gets the values of the forward part that it reads.
**
** These values are stored: outputs of anchors; values that pass from one row kernel to a later one
** or into a sequence kernel (they are stored anyway); a few numbers per token that are sums of
** many, such as the logits of a depth read or the size of a norm's input; and what takes many
** times longer to compute again than to store and load, such as a sum of softmaxes over many
** sources for every channel.  All other values are row values that are cheap to compute again from
** the stored ones, even in a chain of operations on a few numbers.  The backward part gets a twin
** of such a value (attr.copy = 1), which the scheduler fuses into the kernel that needs it.
**
** KEEP_FAST stores more: everything that takes longer to compute again than to store and load.
** KEEP_SMALL stores less: it omits those sums, what only a sequence kernel reads, the results of
** the first phase of depth reads, and outputs of products that are used at once (queries and keys,
** the inside of an MLP).  The twin of a product is an anchor of the backward part.
*/
#include "descent.h"
#include "passes.h"
#include "rebuild.h"
#include "slots.h"

enum {
    SMALL = 64,       /* numbers per token */
    OPS_PER_BYTE = 3, /* operations of a vector unit in the time of loading or storing a byte */
    MANY = 3          /* times longer, for KEEP_AUTO, as memory counts too */
};

/* A few numbers per token. */
static bool is_small(const Node *n) { return shape_count(&n->shape) <= SMALL; }

typedef struct Recompute {
    Keep keep;
    const Slots *slots;
    int last; /* token phase of the forward part: the backward part begins in it */
    bool *kept;
    bool *again; /* products that have twins */
    int *seen;   /* by id: the last number of a walk of is_dear that counted the node */
    int number;
    double operations; /* counted by that walk */
    Node **twin;       /* by old id */
    Rebuild *into;
    Descent walk;
} Recompute;

static bool recompute_is_row(const Recompute *r, const Node *n) {
    return r->slots->domain[n->id] == DOMAIN_ROW;
}

/* A few numbers that took a pass over many. */
static bool is_summary(const Node *n) {
    return is_small(n) && op_info[n->op].class == REDUCE && !is_small(n->in[0]);
}

static void store(Recompute *r, const Node *n) {
    r->kept[plan_storage(n)->id] = r->kept[n->id] = true;
}

/* Marks row values that a later kernel of the forward part reads; the partial result of a two-phase
** read is read through 'after'. */
static void find_kept(const Graph *g, Recompute *r) {
    const Slots *s = r->slots;
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        r->kept[i] |= r->keep != KEEP_SMALL && is_summary(n);
        if (!s->needed[i] || n->backward || (n->op == OP_after && r->keep == KEEP_SMALL)) continue;
        for (int k = 0; k < n->nin; k++) {
            const Node *x = n->in[k];
            if (!recompute_is_row(r, x)) continue;
            bool later = s->domain[i] == DOMAIN_ROW && s->time[i] != s->time[x->id];
            if (later || (r->keep != KEEP_SMALL && s->domain[i] == DOMAIN_GLOBAL)) store(r, x);
        }
    }
}

/* == KEEP_SMALL: products ================================================= */

/* Products that no later kernel reads again: read by one row kernel or by sequence kernels, and not
** in the phase in which the backward part begins, where nothing is stored yet. */
static void find_again(Graph *g, Recompute *r) {
    const Slots *s = r->slots;
    /* the time of row readers; -1: several */
    int *reader = graph_alloc(g, ((size_t)g->n + 1) * sizeof *reader);
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (n->backward || !s->needed[i]) continue;
        if (s->domain[i] == DOMAIN_TOKEN && s->phase[i] > r->last) r->last = s->phase[i];
        r->again[i] = op_info[n->op].class == CONTRACT && n->nin == 2;
        for (int k = 0; k < n->nin; k++) {
            int x = plan_storage(n->in[k])->id;
            if (n->op == OP_reshape) continue;
            if (recompute_is_row(r, n))
                reader[x] = !reader[x] || reader[x] == s->time[i] + 1 ? s->time[i] + 1 : -1;
            else if (s->domain[i] != DOMAIN_GLOBAL) reader[x] = -1;
        }
    }
    for (int i = 0; i < g->n; i++)
        r->again[i] = r->again[i] && reader[i] >= 0 && s->phase[i] < r->last;
}

/* == Costs ================================================================ */

/* The walk counts every node once. */
static int again_operands(void *user, const Node *n) {
    Recompute *r = user;
    if (n->backward || !recompute_is_row(r, n) || r->kept[n->id] || r->seen[n->id] == r->number)
        return -1;
    r->seen[n->id] = r->number;
    r->operations += op_again(n);
    return n->nin;
}

/* Whether recomputing n from stored values takes more than 'most' operations per token. */
static bool is_dear(Recompute *r, const Node *n, double most) {
    r->number++;
    r->operations = 0;
    r->walk.operands = again_operands;
    descent_begin(&r->walk, n);
    while (r->operations <= most && descent_next(&r->walk))
        ;
    r->walk.path.n = 0;
    return r->operations > most;
}

/* Storing and loading a number moves 8 bytes. */
static void keep_dear(Graph *g, Recompute *r) {
    double most = 8.0 * OPS_PER_BYTE * (r->keep == KEEP_FAST ? 1 : MANY);
    bool *read = graph_alloc(g, (size_t)g->n + 1);
    for (int i = 0; i < g->n; i++)
        for (int k = 0; g->node[i]->backward && k < g->node[i]->nin; k++)
            read[g->node[i]->in[k]->id] = true;
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (!read[i] || n->backward || !r->slots->needed[i]) continue;
        if (is_dear(r, n, most * (double)shape_count(&n->shape))) store(r, n);
    }
}

/* == Twins ================================================================ */

static int twin_operands(void *user, const Node *old) {
    const Recompute *r = user;
    bool row = recompute_is_row(r, old) && !r->kept[old->id];
    return old->backward || !(row || r->again[old->id]) || r->twin[old->id] ? -1 : old->nin;
}

static Node *twin_or_copy(const Recompute *r, const Node *old) {
    return r->twin[old->id] ? r->twin[old->id] : r->into->map[old->id];
}

static Node *twin(Recompute *r, const Node *n) {
    const Node *old;
    r->walk.operands = twin_operands;
    descent_begin(&r->walk, n);
    while ((old = descent_next(&r->walk))) {
        Node **in = graph_alloc(r->into->to, ((size_t)old->nin + 1) * sizeof *in);
        for (int i = 0; i < old->nin; i++)
            in[i] = twin_or_copy(r, old->in[i]);
        Attr attr = *old->attr;
        attr.copy = 1;
        r->twin[old->id] = rebuild_as(r->into, old, in, attr);
    }
    return twin_or_copy(r, n);
}

static Node *recompute_rule(Rebuild *b, const Node *old, Node **in) {
    Recompute *r = b->user;
    r->into = b;
    if (!old->backward) return NULL;
    for (int i = 0; i < old->nin; i++)
        if (!old->in[i]->backward) in[i] = twin(r, old->in[i]);
    return NULL;
}

Graph *pass_recompute(Graph *g, Keep keep) {
    size_t n = (size_t)g->n + 1;
    Recompute r = { .keep = keep, .slots = slots_find(g, true, NULL) };
    r.kept = graph_alloc(g, n);
    r.again = graph_alloc(g, n);
    r.seen = graph_alloc(g, n * sizeof *r.seen);
    r.twin = graph_alloc(g, n * sizeof *r.twin);
    r.walk = (Descent){ .mem = g, .user = &r };
    find_kept(g, &r);
    if (keep == KEEP_SMALL) find_again(g, &r);
    else keep_dear(g, &r);
    return rebuild(g, recompute_rule, &r);
}
