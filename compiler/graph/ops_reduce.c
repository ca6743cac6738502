/* SPDX-License-Identifier: MIT
** Reductions over an inner axis or over tokens, and op_fit, which undoes
** broadcasting with them.
*/
#include "op.h"

#include <math.h>
#include <string.h>

static const char *check_axis(Node *n) {
    const Shape *x = &n->in[0]->shape;
    const char *error = operand_is_number(n, 0);
    if (!error && (n->attr->axis < 0 || n->attr->axis >= x->rank))
        error = graph_format(n->g, "there is no axis %d in %s", n->attr->axis, shape_text(n->g, x));
    return error;
}

static const char *without_axis(Node *n) {
    const char *error = check_axis(n);
    if (error) return error;
    Shape s = n->in[0]->shape;
    int axis = n->attr->axis;
    s.rank--;
    for (int i = axis; i < s.rank; i++)
        s.dim[i] = s.dim[i + 1];
    s.dim[s.rank] = 0;
    n->shape = s;
    return NULL;
}

/* y, of x's shape without an axis, with that axis again, of length 1. */
static Node *with_axis(Node *y, const Shape *x, int axis) {
    Shape s = *x;
    s.dim[axis] = 1;
    return op_reshape(y, &s);
}

/* == sum and peak ========================================================= */

const char *shape_sum(Node *n) { return without_axis(n); }
const char *shape_peak(Node *n) { return without_axis(n); }

Node *op_sum(Node *x, int axis) { return op_build1(OP_sum, x, (Attr){ .axis = axis }); }

Node *op_peak(Node *x, int axis) { return op_build1(OP_peak, x, (Attr){ .axis = axis }); }

void vjp_sum(Node *n, Node **dy, Node **dx) {
    const Shape *x = &n->in[0]->shape;
    dx[0] = op_broadcast(with_axis(dy[0], x, n->attr->axis), x);
}

void vjp_peak(Node *n, Node **dy, Node **dx) { (void)n, (void)dy, (void)dx; }

void eval_sum(const EvalStep *s) {
    const Shape *x = &s->n->in[0]->shape;
    int64_t outer, inner, length = x->dim[s->n->attr->axis];
    shape_around(s, x, s->n->attr->axis, &outer, &inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < length; k++)
            for (int64_t i = 0; i < inner; i++)
                s->out[0][o * inner + i] += s->in[0][(o * length + k) * inner + i];
}

void eval_peak(const EvalStep *s) {
    const Shape *x = &s->n->in[0]->shape;
    int64_t outer, inner, length = x->dim[s->n->attr->axis];
    shape_around(s, x, s->n->attr->axis, &outer, &inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double most = -INFINITY;
            for (int64_t k = 0; k < length; k++)
                most = fmax(most, s->in[0][(o * length + k) * inner + i]);
            s->out[0][o * inner + i] = most;
        }
}

/* == softmax ============================================================== */

const char *shape_softmax(Node *n) {
    n->shape = n->in[0]->shape;
    return check_axis(n);
}

Node *op_softmax(Node *x, int axis) { return op_build1(OP_softmax, x, (Attr){ .axis = axis }); }

/* dx = y (dy - sum(dy y)): exactly 0 over an axis of length 1, where y is 1. */
void vjp_softmax(Node *n, Node **dy, Node **dx) {
    int axis = n->attr->axis;
    Node *mean = with_axis(op_sum(op_mul(dy[0], n), axis), &n->shape, axis);
    dx[0] = op_mul(n, op_sub(dy[0], mean));
}

static void softmax(const double *x, double *y, int64_t length, int64_t stride) {
    double most = -INFINITY, total = 0;
    for (int64_t k = 0; k < length; k++)
        most = fmax(most, x[k * stride]);
    for (int64_t k = 0; k < length; k++)
        total += y[k * stride] = exp(x[k * stride] - most);
    for (int64_t k = 0; k < length; k++)
        y[k * stride] /= total;
}

void eval_softmax(const EvalStep *s) {
    int64_t outer, inner, length = s->n->shape.dim[s->n->attr->axis];
    shape_around(s, &s->n->shape, s->n->attr->axis, &outer, &inner);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t at = o * length * inner + i;
            softmax(s->in[0] + at, s->out[0] + at, length, inner);
        }
}

/* == token_sum ============================================================ */

const char *shape_token_sum(Node *n) {
    n->shape = n->in[0]->shape;
    if (n->shape.lead != LEAD_TOKENS)
        return graph_format(n->g, "%s has no token axis", shape_text(n->g, &n->shape));
    n->shape.lead = LEAD_NONE;
    return operand_is_number(n, 0);
}

Node *op_token_sum(Node *x) { return op_build1(OP_token_sum, x, (Attr){ 0 }); }

void vjp_token_sum(Node *n, Node **dy, Node **dx) { dx[0] = op_broadcast(dy[0], &n->in[0]->shape); }

void eval_token_sum(const EvalStep *s) {
    int64_t count = shape_count(&s->n->shape);
    for (int64_t t = 0; t < s->tokens; t++)
        for (int64_t i = 0; i < count; i++)
            s->out[0][i] += s->in[0][t * count + i];
}

/* == op_fit =============================================================== */

Node *op_fit(Node *x, const Shape *s) {
    Shape joint;
    if (shape_broadcast(s, &x->shape, &joint) || !shape_equal(&joint, &x->shape))
        bug(x, "%s does not come from %s", shape_text(x->g, &x->shape), shape_text(x->g, s));
    while (x->shape.rank > s->rank)
        x = op_sum(x, 0);
    for (int i = 0; i < s->rank; i++)
        if (x->shape.dim[i] != s->dim[i]) x = with_axis(op_sum(x, i), &x->shape, i);
    return x->shape.lead == s->lead ? x : op_token_sum(x);
}
