/* SPDX-License-Identifier: MIT
** Two-phase depth reads.  Some reads have weights that depend on no activation except their
** sources.  Such reads are computed together over the sources that they share, and each is then
** merged with its remaining sources by an online softmax.
**
**   first phase    m = max z_j    l = sum exp(z_j - m)    a = sum exp(z_j - m) v_j
**   second phase   M = max(m, z')  c = exp(m - M)  e' = exp(z' - M)
**                  h = (a c + sum e' v') / (l c + sum e')
**
** The maxima are constants for gradients, because they cancel.  'after' nodes set the time: all
** sums a of a group are computed before the first is used, and again before the last is used if
** gradients recompute them, as with --memory small (otherwise they are stored, recompute.c).  The
** gradient of 'after' delays the gradients of a group's sources until the gradient of the first
** read arrives, which is the last one of the group; they are then computed together as well.
*/
#include "two_phase.h"

#include <stdlib.h>
#include <string.h>

/* Sums over some of a read's sources; peak and sum with a softmax only. */
typedef struct Sums {
    Node *peak, *sum, *acc;
} Sums;

/* A read of a group: its sources, the shared ones first, and the results of the first phase. */
typedef struct Part {
    int *pick, shared;
    Sums sums;
} Part;

typedef struct Pass {
    Graph *g;
    StackRead *read;
    int n;
    int *read_of;               /* by old id: index of the read whose root it is, -1: none */
    const ReadGroup **group_of; /* by read */
    Part *part;                 /* by read */
    Notes notes;
    bool given; /* what depends on no activation was copied */
} Pass;

/* == Finding reads ======================================================== */

static bool all_tokens(const Node *stack) {
    for (int i = 0; i < stack->nin; i++)
        if (stack->in[i]->shape.lead != LEAD_TOKENS) return false;
    return true;
}

/* Operand 'side' of the product has the values of sources, the other operand their weights. */
static bool two_phase_match(const Node *root, int side, StackRead *out, Notes *notes) {
    const Node *product = root->in[0], *values = product->in[side],
               *weights = product->in[1 - side];
    const Node *stack = plan_storage(values), *soft = plan_storage(weights);
    int n = stack->nin;
    if (stack->op != OP_stack || n < 2 || !all_tokens(stack)
        || !shape_equal(&values->shape, &product->shape))
        return false;
    if (split_axis(stack, values, 0) != 0 || weights->shape.rank != values->shape.rank
        || weights->shape.dim[0] != n)
        return false;
    *out = (StackRead){ root, weights, values, stack, NULL, 0 };
    if (soft->op != OP_softmax || soft->shape.lead == LEAD_NONE)
        return split_possible(weights, 0, stack, notes);
    out->softmax = soft;
    out->axis = split_axis(soft, weights, 0);
    return out->axis >= 0 && out->axis == soft->attr->axis
        && split_possible(soft->in[0], out->axis, stack, notes);
}

static bool find_read(const Node *n, StackRead *out, Notes *notes) {
    if (n->op != OP_sum || n->attr->axis != 0 || n->shape.lead != LEAD_TOKENS
        || n->in[0]->op != OP_mul)
        return false;
    return two_phase_match(n, 0, out, notes) || two_phase_match(n, 1, out, notes);
}

static void find_reads(Pass *p) {
    const Graph *g = p->g;
    for (int i = 0; i < g->n; i++) {
        bool found = find_read(g->node[i], &p->read[p->n], &p->notes);
        p->read_of[i] = found ? p->n++ : -1;
    }
}

/* == First phase ========================================================== */

/* Orders the sources of every read of the group: first those that all reads share. */
static void pick_sources(Pass *p, ReadGroup g) {
    group_shared(p->read, g, &p->notes);
    for (int i = g.first; i < g.first + g.count; i++) {
        const Node *stack = p->read[i].stack;
        Part *part = &p->part[i];
        part->pick = graph_alloc(p->g, (size_t)stack->nin * sizeof *part->pick);
        int n = 0;
        for (int shared = 1; shared >= 0; shared--) {
            for (int k = 0; k < stack->nin; k++)
                if (group_shares(&p->notes, stack->in[k]) == shared) part->pick[n++] = k;
            if (shared) part->shared = n;
        }
    }
}

/* x without the axis, as an operand that broadcasts along it. */
static Node *keep_axis(Node *x, const Shape *whole, int axis) {
    Shape s = *whole;
    s.dim[axis] = 1;
    return op_reshape(x, &s);
}

/* x as a row of weights: what broadcasts over a source. */
static Node *as_weight(const StackRead *read, Node *x) {
    Shape s = read->weights->shape;
    memmove(&s.dim[0], &s.dim[1], (size_t)--s.rank * sizeof *s.dim);
    return op_reshape(x, &s);
}

/* 'peak' is a maximum of what they are added to, NULL if it is nothing. */
static Sums sum_sources(Rebuild *r, const StackRead *read, const int *pick, int n, Node *peak,
                        Notes *notes) {
    Sums s = { NULL, NULL, NULL };
    Node *values = split_build(r, read->values, 0, pick, n, notes), *w;
    if (!read->softmax) {
        w = split_build(r, read->weights, 0, pick, n, notes);
    } else {
        Node *z = split_build(r, read->softmax->in[0], read->axis, pick, n, notes);
        Node *own = op_stop_gradient(op_peak(z, read->axis));
        Shape shape = read->weights->shape;
        shape.dim[0] = n;
        s.peak = peak ? op_max(peak, own) : own;
        w = op_reshape(op_exp(op_sub(z, keep_axis(s.peak, &z->shape, read->axis))), &shape);
        s.sum = op_sum(w, 0);
    }
    s.acc = op_sum(op_mul(w, values), 0);
    return s;
}

/* Copies values that depend on no activation early, because a group's first read needs those of
** later reads. */
static void copy_given(Rebuild *r, Pass *p) {
    for (int i = 0; !p->given && i < r->from->n; i++) {
        const Node *old = r->from->node[i];
        bool wanted = old->shape.lead == LEAD_NONE ? p->notes.given[i] : p->notes.ahead[i];
        bool ready = !r->map[i] && wanted;
        for (int k = 0; ready && k < old->nin; k++)
            ready = r->map[old->in[k]->id] != NULL;
        if (ready) rebuild_ahead(r, old);
    }
    p->given = true;
}

static void first_phase(Rebuild *r, Pass *p, ReadGroup g) {
    copy_given(r, p);
    pick_sources(p, g);
    for (int i = g.first; i < g.first + g.count; i++)
        p->part[i].sums = sum_sources(r, &p->read[i], p->part[i].pick, p->part[i].shared, NULL,
                                      &p->notes);
}

/* == Second phase ========================================================= */

/* The sum of a read in the first phase.  The sum of the first read waits for the whole group, and
** so does that of the last read, which gradients need first. */
static Node *in_turn(Rebuild *r, const Pass *p, ReadGroup g, int i) {
    Node **other = graph_alloc(r->to, 2 * (size_t)g.count * sizeof *other);
    int n = 0;
    for (int k = g.first; (i == g.first || i == g.first + g.count - 1) && k < g.first + g.count;
         k++) {
        const Sums *s = &p->part[k].sums;
        if (k != i) other[n++] = s->acc;
        if (k != i && i == g.first && s->sum) other[n++] = s->sum;
    }
    return op_after(p->part[i].sums.acc, n, other);
}

/* a and b are over different sources; b.peak is the larger of both. */
static Sums merge(const StackRead *read, Sums a, Sums b) {
    if (!read->softmax) return (Sums){ NULL, NULL, op_add(a.acc, b.acc) };
    Node *c = as_weight(read, op_exp(op_sub(a.peak, b.peak)));
    return (Sums){ b.peak, op_add(op_mul(a.sum, c), b.sum), op_add(op_mul(a.acc, c), b.acc) };
}

static Node *two_phase_rule(Rebuild *r, const Node *old, Node **in) {
    (void)in;
    Pass *p = r->user;
    int i = p->read_of[old->id];
    if (i < 0 || p->group_of[i]->count < 2) return NULL;
    ReadGroup g = *p->group_of[i];
    const StackRead *read = &p->read[i];
    if (i == g.first) first_phase(r, p, g);
    const Part *part = &p->part[i];
    Sums s = part->sums;
    s.acc = in_turn(r, p, g, i);
    int rest = read->stack->nin - part->shared;
    if (rest)
        s = merge(read, s,
                  sum_sources(r, read, part->pick + part->shared, rest, s.peak, &p->notes));
    return read->softmax ? op_div(s.acc, s.sum) : s.acc;
}

TwoPhase two_phase_named(const char *name) {
    return !strcmp(name, "on") ? TWO_PHASE_ON
        : !strcmp(name, "off") ? TWO_PHASE_OFF
                               : TWO_PHASE_AUTO;
}

/* == The pass ============================================================= */

static int form_groups(Pass *p, TwoPhase how) {
    size_t n = (size_t)p->n + 1;
    ReadGroup *group = graph_alloc(p->g, n * sizeof *group);
    p->group_of = graph_alloc(p->g, n * sizeof *p->group_of);
    p->part = graph_alloc(p->g, n * sizeof *p->part);
    int groups = groups_choose(p->g, p->read, p->n, how, &p->notes, group);
    for (int i = 0; i < groups; i++)
        for (int k = 0; k < group[i].count; k++)
            p->group_of[group[i].first + k] = &group[i];
    return p->n - groups;
}

Graph *pass_two_phase(Graph *g, TwoPhase how) {
    if (how == TWO_PHASE_OFF) return g;
    Pass p = { .g = g };
    size_t n = (size_t)g->n + 1;
    p.read = graph_alloc(p.g, n * sizeof *p.read);
    p.read_of = graph_alloc(p.g, n * sizeof *p.read_of);
    p.notes = notes_new(p.g);
    find_reads(&p);
    return form_groups(&p, how) ? rebuild(p.g, two_phase_rule, &p) : p.g;
}
