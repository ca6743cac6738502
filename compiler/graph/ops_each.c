/* SPDX-License-Identifier: MIT
** Products of several parts of a token, such as heads, each with a matrix of its own.  The matrix
** may be some rows of a larger one, because two matrices may be one parameter.
*/
#include "op.h"

typedef struct Each {
    int64_t parts, rows, steps, first, count;
    bool back;
} Each;

static Each each_of(const Node *n) {
    const Shape *w = &n->in[1]->shape;
    const Attr *a = n->attr;
    return (Each){ w->dim[0], w->dim[1], w->dim[2], a->first, a->count, a->back };
}

double each_flops(const Node *n) {
    Each e = each_of(n);
    return 2.0 * (double)e.parts * (double)e.count * (double)e.steps;
}

const char *shape_linear_each(Node *n) {
    const char *error = operand_is(n, 0, "x", "[tokens,G,K]", LEAD_TOKENS, F32, 2);
    if (!error) error = operand_is(n, 1, "w", "[G,M,K]", LEAD_NONE, F32, 3);
    if (error) return error;
    Each e = each_of(n);
    const Shape *x = &n->in[0]->shape;
    int64_t inner = e.back ? e.count : e.steps;
    if (x->dim[0] != e.parts)
        return graph_format(n->g, "x has %lld parts and w %lld", (long long)x->dim[0],
                            (long long)e.parts);
    if (e.first < 0 || e.count < 1 || e.first >= e.rows || e.count > e.rows - e.first)
        return graph_format(n->g, "w has rows 0 to %lld, there are not %lld from %lld on",
                            (long long)e.rows - 1, (long long)e.count, (long long)e.first);
    if (x->dim[1] != inner)
        return graph_format(n->g, "inner dimensions differ: %lld and %lld", (long long)x->dim[1],
                            (long long)inner);
    n->shape =
        (Shape){ .lead = LEAD_TOKENS, .rank = 2, .dim = { e.parts, e.back ? e.steps : e.count } };
    return NULL;
}

/* Part g of a value of parts, without their axis. */
static Node *ops_each_part_of(Node *x, int64_t g) {
    Shape s = x->shape;
    s.rank = 1, s.dim[0] = s.dim[1];
    return op_reshape(op_slice(x, 0, g, 1), &s);
}

/* [1,count,K] among zeros [1,M,K]. */
static Node *among_rows(Node *dw, const Each *e) {
    Shape before = dw->shape, after = dw->shape;
    before.dim[1] = e->first, after.dim[1] = e->rows - e->first - e->count;
    Node *all[3];
    int n = 0;
    if (before.dim[1]) all[n++] = op_full(dw->g, &before, 0);
    all[n++] = dw;
    if (after.dim[1]) all[n++] = op_full(dw->g, &after, 0);
    return n == 1 ? dw : op_concat(dw->g, n, all, 1);
}

/* The weights' is that of a product per part. */
void vjp_linear_each(Node *n, Node **dy, Node **dx) {
    Each e = each_of(n);
    Attr other = *n->attr;
    Node *left = e.back ? n->in[0] : dy[0], *right = e.back ? dy[0] : n->in[0];
    Node **part = graph_alloc(n->g, (size_t)e.parts * sizeof *part);
    Shape one = { .rank = 3, .dim = { 1, e.count, e.steps } };
    other.back = !e.back;
    dx[0] = op_build(n->g, OP_linear_each, 2, (Node *[]){ dy[0], n->in[1] }, other);
    for (int64_t g = 0; g < e.parts; g++)
        part[g] = among_rows(
            op_reshape(op_linear_weight(ops_each_part_of(left, g), ops_each_part_of(right, g)),
                       &one),
            &e);
    dx[1] = e.parts == 1 ? part[0] : op_concat(n->g, (int)e.parts, part, 0);
}

void eval_linear_each(const EvalStep *s) {
    Each e = each_of(s->n);
    int64_t in = e.back ? e.count : e.steps, out = e.back ? e.steps : e.count;
    for (int64_t row = 0; row < s->tokens * e.parts; row++) {
        const double *x = s->in[0] + row * in,
                     *w = s->in[1] + (row % e.parts * e.rows + e.first) * e.steps;
        double *y = s->out[0] + row * out;
        for (int64_t m = 0; m < e.count; m++)
            for (int64_t k = 0; k < e.steps; k++)
                y[e.back ? k : m] += x[e.back ? m : k] * w[m * e.steps + k];
    }
}
