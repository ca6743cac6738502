/* SPDX-License-Identifier: MIT
** The last changes before the schedule.  Softmax stays one node until here, so that earlier passes
** can see it; row kernels only know its parts, exp(x - peak) * (1 / sum).  Anchors read memory, so
** numbers and tables of cos and sin, which row kernels read in place, are copied to rows for
** anchors.  Gradients of attention and of recurrences write all of their results, needed or not.
*/
#include "passes.h"
#include "uniform_lists.h"

/* y without the axis, as an operand that broadcasts along it. */
static Node *keep_axis(Node *y, const Node *x, int axis) {
    Shape s = x->shape;
    s.dim[axis] = 1;
    return op_reshape(y, &s);
}

static Node *in_memory(Node *x) {
    const Node *s = plan_storage(x);
    bool source = op_info[s->op].class == SOURCE && s->op != OP_param;
    return s->shape.type == F32 && (source || op_info[s->op].class == WAVE) ? op_stop_gradient(x)
                                                                            : x;
}

static bool reads_memory(const Node *n) {
    Class c = op_info[n->op].class;
    return !class_is_row(c) && c != SOURCE && c != SIDE && c != TOKENSUM;
}

typedef struct Expand {
    UniformLists *lists;
    int *sides; /* by id: how many of the node's other results have nodes */
} Expand;

static bool is_result(const Node *n, int result) {
    return n->side[result].lead == LEAD_TOKENS || n->side[result].rank > 0;
}

static int *count_sides(Graph *g, const bool *needed) {
    int *sides = graph_scratch(g, ((size_t)g->n + 1) * sizeof *sides);
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (n->op != OP_side || !needed[i]) continue;
        sides[n->in[0]->id] += is_result(n->in[0], (int)n->attr->first);
    }
    return sides;
}

/* NULL: all are there. */
static Node *with_sides(Rebuild *r, const Node *old, Node **in, int there) {
    for (int i = 1; i < node_results(old); i++)
        there -= is_result(old, i);
    if (there >= 0) return NULL;
    Node *n = rebuild_copy(r, old, in);
    for (int i = 1; i < node_results(n); i++)
        if (is_result(n, i)) op_side(n, i);
    return n;
}

static Node *expand_rule(Rebuild *r, const Node *old, Node **in) {
    const Expand *e = r->user;
    Node *list = uniform_list(e->lists, r, old);
    if (list) return list;
    for (int i = 0; reads_memory(old) && i < old->nin; i++)
        in[i] = in_memory(in[i]);
    if (op_writes_all(old->op)) return with_sides(r, old, in, e->sides[old->id]);
    if (op_info[old->op].class != SOFTMAX) return NULL;
    int axis = old->attr->axis;
    Node *y = op_exp(op_sub(in[0], keep_axis(op_peak(in[0], axis), in[0], axis)));
    Node *share = op_div(op_fill(in[0]->g, 1),
                         op_sum(y, axis)); /* a product each, not a division */
    return op_mul(y, keep_axis(share, in[0], axis));
}

Graph *pass_expand(Graph *g) {
    const bool *needed = graph_needed(g);
    Expand e = { uniform_lists(g), count_sides(g, needed) };
    return rebuild_needed(g, needed, expand_rule, &e);
}
