/* SPDX-License-Identifier: MIT
** The same elements with other indices: reshape, transpose, slice, concat and stack; and at
** another time: after.  Each gradient is the inverse view; the gradient of slice pads with zeros.
*/
#include "op.h"

#include <string.h>

static size_t bytes(int64_t elements) { return (size_t)elements * sizeof(double); }

static int64_t value_count(const EvalStep *s, const Shape *shape) {
    return rows_of(s, shape) * shape_count(shape);
}

static const char *check_axis(Node *n, int rank) {
    if (n->attr->axis >= 0 && n->attr->axis < rank) return NULL;
    return graph_format(n->g, "there is no axis %d in %s", n->attr->axis,
                        shape_text(n->g, &n->in[0]->shape));
}

/* == reshape ============================================================== */

const char *shape_reshape(Node *n) {
    const Shape *x = &n->in[0]->shape;
    n->shape = n->attr->shape;
    n->shape.lead = x->lead;
    const char *error = shape_check(n->g, &n->shape);
    if (!error) error = operand_is_number(n, 0);
    if (!error && shape_count(x) != shape_count(&n->shape))
        error = graph_format(n->g, "%s has %lld elements, %s would have %lld", shape_text(n->g, x),
                             (long long)shape_count(x), shape_text(n->g, &n->shape),
                             (long long)shape_count(&n->shape));
    return error;
}

Node *op_reshape(Node *x, const Shape *inner) {
    Shape same = *inner;
    same.lead = x->shape.lead;
    return shape_equal(&x->shape, &same) ? x : op_build1(OP_reshape, x, (Attr){ .shape = *inner });
}

void vjp_reshape(Node *n, Node **dy, Node **dx) { dx[0] = op_reshape(dy[0], &n->in[0]->shape); }

void eval_reshape(const EvalStep *s) {
    memcpy(s->out[0], s->in[0], bytes(value_count(s, &s->n->shape)));
}

/* == transpose: axis i of the result is axis perm[i] of the operand ======= */

const char *shape_transpose(Node *n) {
    const Shape *x = &n->in[0]->shape;
    bool seen[MAXRANK] = { false };
    n->shape = *x;
    for (int i = 0; i < MAXRANK; i++) {
        int axis = n->attr->perm[i];
        if (i >= x->rank && !axis) continue;
        if (i >= x->rank || axis < 0 || axis >= x->rank || seen[axis])
            return graph_format(n->g, "the order must name each of the %d axes of %s once", x->rank,
                                shape_text(n->g, x));
        seen[axis] = true;
        n->shape.dim[i] = x->dim[axis];
    }
    return operand_is_number(n, 0);
}

Node *op_transpose(Node *x, const int *perm) {
    Attr attr = { 0 };
    memcpy(attr.perm, perm, (size_t)x->shape.rank * sizeof *perm);
    return op_build1(OP_transpose, x, attr);
}

void vjp_transpose(Node *n, Node **dy, Node **dx) {
    int inverse[MAXRANK];
    for (int i = 0; i < n->shape.rank; i++)
        inverse[n->attr->perm[i]] = i;
    dx[0] = op_transpose(dy[0], inverse);
}

void eval_transpose(const EvalStep *s) {
    const Shape *x = &s->n->in[0]->shape, *y = &s->n->shape;
    int64_t from[MAXRANK], stride[MAXRANK], dim[MAXRANK], size = 1;
    for (int i = x->rank; i-- > 0; size *= x->dim[i])
        from[i] = size;
    for (int i = 0; i < MAXRANK; i++) { /* missing axes in front, of length 1 */
        int axis = i - (MAXRANK - y->rank);
        dim[i] = axis < 0 ? 1 : y->dim[axis];
        stride[i] = axis < 0 ? 0 : from[s->n->attr->perm[axis]];
    }
    double *out = s->out[0];
    for (int64_t row = 0; row < rows_of(s, y); row++)
        for (int64_t a = 0; a < dim[0]; a++)
            for (int64_t b = 0; b < dim[1]; b++)
                for (int64_t c = 0; c < dim[2]; c++)
                    for (int64_t d = 0; d < dim[3]; d++)
                        *out++ = s->in[0][row * size + a * stride[0] + b * stride[1] + c * stride[2]
                                          + d * stride[3]];
}

/* == slice ================================================================ */

const char *shape_slice(Node *n) {
    const Shape *x = &n->in[0]->shape;
    const Attr *a = n->attr;
    const char *error = operand_is_number(n, 0);
    if (!error) error = check_axis(n, x->rank);
    if (error) return error;
    int64_t length = x->dim[a->axis];
    if (a->count < 1 || a->first < 0 || a->first > length || a->count > length - a->first)
        return graph_format(n->g, "%lld elements from %lld on are not inside axis %d of %s",
                            (long long)a->count, (long long)a->first, a->axis, shape_text(n->g, x));
    n->shape = *x;
    n->shape.dim[a->axis] = a->count;
    return NULL;
}

Node *op_slice(Node *x, int axis, int64_t first, int64_t count) {
    if (axis >= 0 && axis < x->shape.rank && !first && count == x->shape.dim[axis]) return x;
    return op_build1(OP_slice, x, (Attr){ .axis = axis, .first = first, .count = count });
}

void vjp_slice(Node *n, Node **dy, Node **dx) {
    int axis = n->attr->axis, parts = 0;
    Shape before = n->in[0]->shape, after = before;
    Node *part[3];
    before.dim[axis] = n->attr->first;
    after.dim[axis] -= n->attr->first + n->attr->count;
    if (before.dim[axis]) part[parts++] = op_full(n->g, &before, 0);
    part[parts++] = dy[0];
    if (after.dim[axis]) part[parts++] = op_full(n->g, &after, 0);
    dx[0] = op_concat(n->g, parts, part, axis);
}

void eval_slice(const EvalStep *s) {
    const Attr *a = s->n->attr;
    const Shape *x = &s->n->in[0]->shape;
    int64_t outer, inner, length = x->dim[a->axis];
    shape_around(s, x, a->axis, &outer, &inner);
    for (int64_t o = 0; o < outer; o++)
        memcpy(s->out[0] + o * a->count * inner, s->in[0] + (o * length + a->first) * inner,
               bytes(a->count * inner));
}

/* == concat =============================================================== */

/* Whether operand i could stand where operand 0 does, but for one axis. */
static bool alike(const Node *n, int i, int axis) {
    Shape a = n->in[0]->shape, b = n->in[i]->shape;
    b.lead = a.lead, b.list = a.list; /* rows of different tokens are refused for every op */
    if (axis < b.rank) b.dim[axis] = a.dim[axis];
    return shape_equal(&a, &b);
}

static const char *check_alike(Node *n, int axis) {
    const char *error = operand_is_number(n, 0);
    for (int i = 1; !error && i < n->nin; i++)
        if (!alike(n, i, axis))
            error = graph_format(n->g, "shapes %s and %s (operand %d) do not fit together",
                                 shape_text(n->g, &n->in[0]->shape),
                                 shape_text(n->g, &n->in[i]->shape), i);
    return error;
}

static Lead lead_of_any(const Node *n) {
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->shape.lead == LEAD_TOKENS) return LEAD_TOKENS;
    return LEAD_NONE;
}

const char *shape_concat(Node *n) {
    int axis = n->attr->axis;
    const char *error = check_axis(n, n->in[0]->shape.rank);
    if (!error) error = check_alike(n, axis);
    if (error) return error;
    n->shape = n->in[0]->shape;
    n->shape.lead = lead_of_any(n);
    for (int i = 1; i < n->nin; i++) {
        n->shape.dim[axis] += n->in[i]->shape.dim[axis];
        if ((error = shape_check(n->g, &n->shape))) return error;
    }
    return NULL;
}

Node *op_concat(Graph *g, int n, Node **x, int axis) {
    return n == 1 ? x[0] : op_build(g, OP_concat, n, x, (Attr){ .axis = axis });
}

void vjp_concat(Node *n, Node **dy, Node **dx) {
    int axis = n->attr->axis;
    for (int64_t i = 0, first = 0; i < n->nin; i++) {
        int64_t count = n->in[i]->shape.dim[axis];
        dx[i] = op_slice(dy[0], axis, first, count);
        first += count;
    }
}

/* Copies operand i, one of length 'count' along the joined axis, behind 'first'. */
static void ops_view_place(const EvalStep *s, int i, int64_t length, int64_t first, int64_t count,
                           int64_t outer, int64_t inner) {
    int64_t rows = rows_of(s, &s->n->shape);
    int64_t row = s->n->in[i]->shape.lead == LEAD_TOKENS || rows <= 1 ? outer : outer / rows;
    for (int64_t o = 0; o < outer; o++)
        memcpy(s->out[0] + (o * length + first) * inner, s->in[i] + o % row * count * inner,
               bytes(count * inner));
}

void eval_concat(const EvalStep *s) {
    int axis = s->n->attr->axis;
    int64_t outer, inner, first = 0;
    shape_around(s, &s->n->shape, axis, &outer, &inner);
    for (int i = 0; i < s->n->nin; i++) {
        int64_t count = s->n->in[i]->shape.dim[axis];
        ops_view_place(s, i, s->n->shape.dim[axis], first, count, outer, inner);
        first += count;
    }
}

/* == stack ================================================================ */

const char *shape_stack(Node *n) {
    const Shape *x = &n->in[0]->shape;
    const char *error = check_alike(n, MAXRANK);
    if (error) return error;
    if (x->rank == MAXRANK)
        return graph_format(n->g, "a stack of %s would have more than %d axes", shape_text(n->g, x),
                            MAXRANK);
    n->shape = (Shape){ .lead = lead_of_any(n), .rank = x->rank + 1, .dim = { n->nin } };
    memcpy(&n->shape.dim[1], x->dim, (size_t)x->rank * sizeof x->dim[0]);
    return NULL;
}

Node *op_stack(Graph *g, int n, Node **x) { return op_build(g, OP_stack, n, x, (Attr){ 0 }); }

void vjp_stack(Node *n, Node **dy, Node **dx) {
    for (int i = 0; i < n->nin; i++)
        dx[i] = op_reshape(op_slice(dy[0], 0, i, 1), &n->in[i]->shape);
}

void eval_stack(const EvalStep *s) {
    int64_t rows = rows_of(s, &s->n->shape), inner = shape_count(&s->n->in[0]->shape);
    for (int i = 0; i < s->n->nin; i++)
        ops_view_place(s, i, s->n->nin, i, 1, rows, inner);
}

/* == after ================================================================ */

int node_reads(const Node *n) { return n->op == OP_after ? 1 : n->nin; }

const char *shape_after(Node *n) {
    n->shape = n->in[0]->shape;
    for (int i = 1; i < n->nin; i++)
        if (n->shape.lead == LEAD_NONE && n->in[i]->shape.lead == LEAD_TOKENS)
            return graph_format(n->g, "%s cannot wait for %s (operand %d), one per token",
                                shape_text(n->g, &n->shape), shape_text(n->g, &n->in[i]->shape), i);
    return operand_is_number(n, 0);
}

Node *op_after(Node *x, int n, Node **others) {
    Node **in = graph_alloc(x->g, ((size_t)n + 1) * sizeof *in);
    in[0] = x;
    memcpy(&in[1], others, (size_t)n * sizeof *in);
    return op_build(x->g, OP_after, n + 1, in, (Attr){ 0 });
}

/* What was computed together gets its gradients together: the others' cotangents
** are zeros that wait for this one's. */
void vjp_after(Node *n, Node **dy, Node **dx) {
    dx[0] = dy[0];
    for (int i = 1; i < n->nin; i++)
        if (n->in[i]->shape.lead == n->shape.lead && n->in[i]->shape.type == F32)
            dx[i] = op_after(op_full(n->g, &n->in[i]->shape, 0), 1, dy);
}

void eval_after(const EvalStep *s) {
    memcpy(s->out[0], s->in[0], bytes(value_count(s, &s->n->shape)));
}
