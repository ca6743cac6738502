/*
** Softmax stays one node until here, so that passes before this one can see
** it; row kernels know its parts only: exp(x - peak) / sum.
*/
#include "plan.h"
#include "rebuild.h"

/* y without the axis, as an operand that broadcasts along it. */
static Node *keep_axis(Node *y, const Node *x, int axis) {
    Shape s = x->shape;
    s.dim[axis] = 1;
    return op_reshape(y, &s);
}

static Node *rule(Rebuild *r, const Node *old, Node **in) {
    (void)r;
    if (op_info[old->op].class != SOFTMAX) return NULL;
    int axis = old->attr.axis;
    Node *y = op_exp(op_sub(in[0], keep_axis(op_peak(in[0], axis), in[0], axis)));
    return op_div(y, keep_axis(op_sum(y, axis), in[0], axis));
}

Graph *pass_expand(Graph *g) {
    return rebuild(g, rule, NULL);
}
