/* SPDX-License-Identifier: MIT
** Last changes before the schedule.  Softmax stays one node until here, so that
** passes before this one can see it; row kernels know its parts only:
** exp(x - peak) * (1 / sum).  Anchors read memory, so numbers and tables of cos and sin,
** which row kernels read where they are, are copied to rows for them.
** Gradients of attention and of recurrences write all of their results, wanted or not.
*/
#include "plan.h"
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

static Node *with_sides(Node *n) {
    for (int i = 1; i < node_results(n); i++)
        if (n->side[i].lead == LEAD_TOKENS) op_side(n, i);
    return n;
}

static Node *rule(Rebuild *r, const Node *old, Node **in) {
    Node *list = uniform_list(r->user, r, old);
    if (list) return list;
    for (int i = 0; reads_memory(old) && i < old->nin; i++)
        in[i] = in_memory(in[i]);
    if (op_writes_all(old->op)) return with_sides(rebuild_copy(r, old, in));
    if (op_info[old->op].class != SOFTMAX) return NULL;
    int axis = old->attr->axis;
    Node *y = op_exp(op_sub(in[0], keep_axis(op_peak(in[0], axis), in[0], axis)));
    Node *share = op_div(op_fill(in[0]->g, 1),
                         op_sum(y, axis)); /* a product each, not a division */
    return op_mul(y, keep_axis(share, in[0], axis));
}

Graph *pass_expand(Graph *g) { return rebuild(g, rule, uniform_lists(g)); }
