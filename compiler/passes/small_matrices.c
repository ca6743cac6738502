/* SPDX-License-Identifier: MIT
** --weights q8|q4: parameters that are only matrices of products, or tables whose rows are looked
** up, become small weights, with 8 or 4 bits per number (graph/ops_small.c).
**
** Tables of lookups, and the matrix that makes the logits, have 8 bits even with q4.  A matrix
** with fewer rows or steps than NARROW stays float32.  So does a matrix whose products decide
** something: a choice of experts or of tokens that is made from them, directly or number by
** number.
*/
#include "fatal.h"
#include "passes.h"
#include "rebuild.h"

#include <stdlib.h>

enum { NARROW = 32 };

static bool takes_small(const Node *n, int operand) {
    switch (n->op) {
    case OP_linear:
    case OP_expert_linear: return operand == 1;
    case OP_embed: return operand == 0;
    default: return false;
    }
}

/* A matrix, or one for each of several experts. */
static bool is_wide(const Node *param) {
    const Shape *s = &param->shape;
    return (s->rank == 3 || (s->rank == 2 && param_tensors(param) == 1))
        && s->dim[s->rank - 1] >= NARROW && s->dim[s->rank - 2] >= NARROW;
}

/* Of g's parameter of that name; NULL: it is none. */
static int *bits_of(const Graph *g, int *bits, const Node *n) {
    const Param *p = n->op == OP_param ? graph_find_param(g, n->attr->name) : NULL;
    return p ? &bits[p - g->param] : NULL;
}

static void leave_out(const Graph *g, int *bits, const Node *param) {
    int *b = bits_of(g, bits, param);
    if (b) *b = 0;
}

static bool makes_choice(Op op) {
    Class class = op_info[op].class;
    return class == CHOICE || (class == PICK && op_info[op].result == RESULT_STEPS);
}

/* By id: whether the value's own numbers decide a choice. */
static bool *find_deciders(const Graph *g) {
    bool *decides = checked_new((size_t)g->n + 1, sizeof *decides);
    for (int i = g->n; i-- > 0;) {
        const Node *n = g->node[i];
        for (int k = 0; k < n->nin; k++) {
            const Node *x = n->in[k];
            bool same = class_is_row(op_info[n->op].class)
                && shape_count(&x->shape) == shape_count(&n->shape);
            if (makes_choice(n->op) || (same && decides[i])) decides[x->id] = true;
        }
    }
    return decides;
}

/* Removes parameters of g that other operations use or whose products decide a choice. */
static void leave_out_others(const Graph *g, int *bits, const Graph *used) {
    bool *decides = find_deciders(used);
    for (int i = 0; i < used->n; i++)
        for (int k = 0; k < used->node[i]->nin; k++) {
            const Node *n = used->node[i];
            if (!takes_small(n, k) || (n->op == OP_linear && decides[i]))
                leave_out(g, bits, n->in[k]);
        }
    for (int i = 0; i < used->nout; i++)
        leave_out(g, bits, used->out[i].node);
    free(decides);
}

static void raise(const Graph *g, int *bits, const Node *param) {
    int *b = bits_of(g, bits, param);
    if (b && *b) *b = 8;
}

/* Finds parameters that are looked up and parameters whose products are the logits, also through
** pointwise operations. */
static void raise_ends(const Graph *g, int *bits) {
    const Node *n = graph_find(g, "logits");
    while (n && class_is_row(op_info[n->op].class))
        n = n->nin ? n->in[0] : NULL;
    if (n && n->op == OP_linear) raise(g, bits, n->in[1]);
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->op == OP_embed) raise(g, bits, g->node[i]->in[0]);
}

int *small_bits(const Graph *g, const Graph *probe, Small small) {
    int *bits = checked_new((size_t)g->nparam + 1, sizeof *bits);
    for (int i = 0; i < g->nparam; i++)
        if (is_wide(g->param[i].node)) bits[i] = small == SMALL_Q4 ? 4 : 8;
    leave_out_others(g, bits, g);
    if (probe) leave_out_others(g, bits, probe);
    raise_ends(g, bits);
    return bits;
}

/* == The pass ============================================================= */

typedef struct Decided {
    const Graph *model;
    const int *bits;
} Decided;

static Node *matrices_rule(Rebuild *r, const Node *old, Node **in) {
    const Decided *d = r->user;
    (void)in;
    const Param *of = old->op == OP_param ? graph_find_param(d->model, old->attr->name) : NULL;
    int bits = of ? d->bits[of - d->model->param] : 0;
    return bits ? graph_small(r->to, graph_find_param(r->from, old->attr->name), bits) : NULL;
}

Graph *pass_small(Graph *g, const Graph *model, const int *bits) {
    Decided d = { model, bits };
    return rebuild(g, matrices_rule, &d);
}
