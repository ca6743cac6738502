/* SPDX-License-Identifier: MIT
** See recurrence_draw.h. */
#include "recurrence_draw.h"

#include <math.h>

/* Keys are at most 1 long, so that no correction overshoots; sums over many tokens are
** flattened. */
Node *drawn_recurrence(Node *q, Node *k, Node *v, Node *decay, Node *rate, Node *beta) {
    const char *error;
    double length = sqrt((double)k->shape.dim[1]);
    Node *in[6] = { op_tanh(q), op_scale(op_tanh(k), 1 / length), op_tanh(v) };
    int n = 3;
    if (decay) in[n++] = op_neg(op_mul(decay, decay));
    if (rate) in[n++] = op_tanh(op_mul(rate, rate));
    if (beta) in[n++] = op_sigmoid(beta);
    Node *o = node_new(q->g, OP_recurrence, n, in, (Attr){ .delta = beta }, &error);
    if (!o) bug(q, "recurrence: %s", error);
    return op_tanh(op_scale(o, 0.25));
}

Node *drawn_recurrence_op(Node *drawn) {
    while (drawn->op != OP_recurrence)
        drawn = drawn->in[0];
    return drawn;
}
