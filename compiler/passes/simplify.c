/* SPDX-License-Identifier: MIT
** Algebra.  Each rule is a function that looks at one node whose operands are
** already simple, with the identity in a comment; the first that applies wins.
**
** Identities that do NOT hold for floats and are not here: x - x = 0, 0 * x = 0,
** x / x = 1 (NaN, infinity), (a + b) + c = a + (b + c).  Adding a constant zero
** is dropped: that changes the sign of a zero at most, which no result shows.
*/
#include "passes.h"
#include "rebuild.h"

#include <string.h>

/* By node of the new graph: the number in every element, if the node is a uniform constant. */
typedef struct Known {
    bool is;
    double value;
} Known;

typedef struct Simplify {
    Graph *mem;
    const int *uses; /* by old id */
    Known *known;    /* by new id, of the first n nodes */
    int n, cap;
} Simplify;

static Known known_of(const Simplify *s, const Node *n) {
    const Known *of = s->known;
    if (n->op == OP_fill) return (Known){ true, n->attr->value };
    if (op_info[n->op].class == VIEW && n->nin == 1) return of[n->in[0]->id];
    if (n->op != OP_mul && n->op != OP_add) return (Known){ false, 0 };
    Known a = of[n->in[0]->id], b = of[n->in[1]->id];
    return (Known){ a.is && b.is, n->op == OP_mul ? a.value * b.value : a.value + b.value };
}

/* Computes the entry of each node once, in order, when nodes are first asked for. */
static bool constant(Rebuild *r, const Node *n, double *value) {
    Simplify *s = r->user;
    if (n->id >= s->cap) {
        Known *old = s->known;
        s->cap = 2 * n->id + 256;
        s->known = graph_alloc(s->mem, (size_t)s->cap * sizeof *s->known);
        if (s->n) memcpy(s->known, old, (size_t)s->n * sizeof *old);
    }
    for (; s->n <= n->id; s->n++)
        s->known[s->n] = known_of(s, r->to->node[s->n]);
    *value = s->known[n->id].value;
    return s->known[n->id].is;
}

static bool is_constant(Rebuild *r, const Node *n, double value) {
    double v;
    return constant(r, n, &v) && v == value;
}

static bool simplify_fits(const Node *x, const Node *old) {
    return shape_equal(&x->shape, &old->shape);
}

/* x + 0 = x;  0 + x = x;  x + x = 2 x */
static Node *add_zero(Rebuild *r, const Node *old, Node **in) {
    if (old->op != OP_add) return NULL;
    if (simplify_fits(in[0], old) && is_constant(r, in[1], 0)) return in[0];
    if (simplify_fits(in[1], old) && is_constant(r, in[0], 0)) return in[1];
    if (in[0] == in[1]) return op_scale(in[0], 2);
    return NULL;
}

/* x + after(0, y) = after(x, y) */
static Node *add_later(Rebuild *r, const Node *old, Node **in) {
    if (old->op != OP_add) return NULL;
    for (int i = 0; i < 2; i++) {
        Node *zero = in[i], *x = in[1 - i];
        if (zero->op == OP_after && simplify_fits(x, old) && is_constant(r, zero->in[0], 0))
            return op_after(x, zero->nin - 1, &zero->in[1]);
    }
    return NULL;
}

/* x * 1 = x;  1 * x = x */
static Node *mul_one(Rebuild *r, const Node *old, Node **in) {
    if (old->op != OP_mul) return NULL;
    if (simplify_fits(in[0], old) && is_constant(r, in[1], 1)) return in[0];
    if (simplify_fits(in[1], old) && is_constant(r, in[0], 1)) return in[1];
    return NULL;
}

/* select(a number, a, b) = a or b */
static Node *select_known(Rebuild *r, const Node *old, Node **in) {
    double c;
    if (old->op != OP_select || !constant(r, in[0], &c)) return NULL;
    Node *x = c > 0 ? in[1] : in[2];
    return simplify_fits(x, old) ? x : NULL;
}

/* f(x * 1, y) = f(x, y) if the 1 only repeats x and y is as wide without it: the gradient of a sum
** makes such nodes. */
static Node *drop_repeat(Rebuild *r, const Node *old, Node **in) {
    if (op_info[old->op].class != POINTWISE) return NULL;
    for (int i = 0; i < old->nin; i++) {
        if (in[i]->op != OP_mul || !is_constant(r, in[i]->in[1], 1)) continue;
        Node *keep = in[i];
        const char *error;
        in[i] = keep->in[0];
        Node *n = node_new(r->to, old->op, old->nin, in, *old->attr, &error);
        if (n && simplify_fits(n, old)) return n;
        in[i] = keep;
    }
    return NULL;
}

enum { FEW_PARTS = 8 };

/* Two values cut into pieces along the same axis, and the parts between the cuts of either. */
typedef struct Cuts {
    Node *x[2];
    int piece[2];     /* of each, in which the part is */
    int64_t first[2]; /* where in it the part begins */
    int64_t count;    /* of the part */
} Cuts;

static int64_t piece_length(const Node *x, int piece) {
    return x->in[piece]->shape.dim[x->attr->axis];
}

/* The next part, the first one at first; false: there is none. */
static bool simplify_next_part(Cuts *c) {
    for (int k = 0; k < 2; k++) {
        c->first[k] += c->count;
        if (c->first[k] == piece_length(c->x[k], c->piece[k])) c->piece[k]++, c->first[k] = 0;
        if (c->piece[k] == c->x[k]->nin) return false;
    }
    int64_t a = piece_length(c->x[0], c->piece[0]) - c->first[0],
            b = piece_length(c->x[1], c->piece[1]) - c->first[1];
    c->count = a < b ? a : b;
    return true;
}

static Node *simplify_part_of(const Cuts *c, int k) {
    Node *piece = c->x[k]->in[c->piece[k]];
    int axis = c->x[k]->attr->axis;
    return c->count == piece->shape.dim[axis] ? piece
                                              : op_slice(piece, axis, c->first[k], c->count);
}

static bool is_zero_part(Rebuild *r, const Cuts *c, int k) {
    return is_constant(r, c->x[k]->in[c->piece[k]], 0);
}

/* concat(a, 0) + concat(0, b) = concat(a, b): the gradients of slices of one value, with any cuts.
** Applied if at least half of the result is no sum, if there are few parts (each is a loop), and if
** nothing else reads the operands, so that they need not be written. */
static Node *add_concat(Rebuild *r, const Node *old, Node **in) {
    if (old->op != OP_add || in[0]->op != OP_concat || in[1]->op != OP_concat
        || in[0]->attr->axis != in[1]->attr->axis || !simplify_fits(in[0], old)
        || !simplify_fits(in[1], old))
        return NULL;
    const int *uses = ((const Simplify *)r->user)->uses;
    bool alone = uses[old->in[0]->id] == 1 && uses[old->in[1]->id] == 1;
    int axis = in[0]->attr->axis, n = 0, parts = 0;
    int64_t sums = 0;
    for (Cuts c = { .x = { in[0], in[1] } }; simplify_next_part(&c); parts++)
        if (!is_zero_part(r, &c, 0) && !is_zero_part(r, &c, 1)) sums += c.count;
    if (2 * sums > old->shape.dim[axis] && (!alone || parts > FEW_PARTS)) return NULL;
    Node **piece = graph_alloc(r->to, (size_t)(in[0]->nin + in[1]->nin) * sizeof *piece);
    for (Cuts c = { .x = { in[0], in[1] } }; simplify_next_part(&c);) {
        Node *a = simplify_part_of(&c, 0), *b = simplify_part_of(&c, 1);
        piece[n++] = is_zero_part(r, &c, 0) ? b : is_zero_part(r, &c, 1) ? a : op_add(a, b);
    }
    return op_concat(r->to, n, piece, axis);
}

/* stack(a, b)[1] = b */
static Node *slice_stack(const Node *old, Node **in) {
    if (old->op != OP_slice || in[0]->op != OP_stack || old->attr->axis != 0
        || old->attr->count != 1)
        return NULL;
    Node *piece = in[0]->in[old->attr->first];
    Shape s = old->shape;
    return piece->shape.lead == s.lead ? op_reshape(piece, &s) : NULL;
}

/* x[k], without that axis. */
static Node *simplify_row_of(Node *x, int64_t k) {
    Shape s = x->shape;
    s.rank--;
    memmove(s.dim, s.dim + 1, (size_t)s.rank * sizeof *s.dim);
    if (x->op == OP_reshape && shape_equal(&x->in[0]->shape, &s)) return x->in[0];
    return op_reshape(x->shape.dim[0] > 1 ? op_slice(x, 0, k, 1) : x, &s);
}

/* The stack of which x is the pieces from 'first' on; NULL if there is none. */
static Node *stack_of(Node *x, int64_t *first) {
    *first = 0;
    if (x->op == OP_stack) return x;
    if (x->op != OP_slice || x->attr->axis != 0 || x->in[0]->op != OP_stack) return NULL;
    *first = x->attr->first;
    return x->in[0];
}

/* The number of a concat's rows that are pieces of stacks; 0 if there are too few or they
** differ. */
static int64_t stacked_rows(const Node *old, Node **in) {
    int64_t stacked = 0, first;
    for (int i = 0; i < old->nin; i++) {
        Node *stack = stack_of(in[i], &first);
        if (in[i]->shape.lead != old->shape.lead) return 0;
        if (!stack) continue;
        if (stack->in[0]->shape.lead != old->shape.lead) return 0;
        stacked += in[i]->shape.dim[0];
    }
    return 2 * stacked > old->shape.dim[0] ? stacked : 0;
}

/* concat(x, stack(a, b, c)[0 ... 1]) = stack(x, a, b): a list of sources that is shifted is a list
** again, which is not copied */
static Node *concat_stack(Rebuild *r, const Node *old, Node **in) {
    if (old->op != OP_concat || old->attr->axis != 0 || !stacked_rows(old, in)) return NULL;
    Node **piece = graph_alloc(r->to, (size_t)old->shape.dim[0] * sizeof *piece);
    int n = 0;
    for (int i = 0; i < old->nin; i++) {
        int64_t first, rows = in[i]->shape.dim[0];
        const Node *stack = stack_of(in[i], &first);
        for (int64_t k = 0; k < rows; k++)
            piece[n++] = stack ? stack->in[first + k] : simplify_row_of(in[i], k);
    }
    return op_stack(r->to, n, piece);
}

/* reshape(reshape(x)) = reshape(x);  a reshape to the same shape = x */
static Node *reshape_twice(const Node *old, Node **in) {
    if (old->op != OP_reshape) return NULL;
    if (simplify_fits(in[0], old)) return in[0];
    if (in[0]->op != OP_reshape) return NULL;
    Shape s = old->shape;
    return simplify_fits(in[0]->in[0], old) ? in[0]->in[0] : op_reshape(in[0]->in[0], &s);
}

/* sum over an axis of length 1 = reshape */
static Node *sum_one(const Node *old, Node **in) {
    if (old->op != OP_sum || in[0]->shape.dim[old->attr->axis] != 1) return NULL;
    Shape s = old->shape;
    return op_reshape(in[0], &s);
}

/* True if x has the same value all along 'axis' of a result of rank 'rank'. */
static bool constant_along(const Node *x, int rank, int axis) {
    int own = axis - (rank - x->shape.rank);
    return own < 0 || x->shape.dim[own] == 1;
}

static Node *drop_axis(Node *x, int rank, int axis) {
    int own = axis - (rank - x->shape.rank);
    if (own < 0) return x;
    Shape s = x->shape;
    memmove(&s.dim[own], &s.dim[own + 1], (size_t)(s.rank - own - 1) * sizeof *s.dim);
    s.rank--;
    return op_reshape(x, &s);
}

/* sum(x * c, axis) = sum(x, axis) * c  if c does not change along the axis */
static Node *sum_factor(const Node *old, Node **in) {
    if (old->op != OP_sum || in[0]->op != OP_mul) return NULL;
    int rank = in[0]->shape.rank, axis = old->attr->axis;
    for (int i = 0; i < 2; i++) {
        Node *c = in[0]->in[i], *x = in[0]->in[1 - i];
        if (!constant_along(c, rank, axis) || constant_along(x, rank, axis)) continue;
        if (x->shape.rank != rank || x->shape.lead != in[0]->shape.lead) continue;
        Node *y = op_mul(op_sum(x, axis), drop_axis(c, rank, axis));
        if (simplify_fits(y, old)) return y;
    }
    return NULL;
}

/* sum((c * y) * z, axis) = sum(z * y, axis) * c if c does not change along the axis: the gradients
** of a softmax and of the sum that it weighs then share the sum */
static Node *sum_inner_factor(const Node *old, Node **in) {
    if (old->op != OP_sum || in[0]->op != OP_mul || in[0]->in[0]->op != OP_mul) return NULL;
    int rank = in[0]->shape.rank, axis = old->attr->axis;
    Node *inner = in[0]->in[0], *c = inner->in[0], *y = inner->in[1], *z = in[0]->in[1];
    if (!constant_along(c, rank, axis) || constant_along(y, rank, axis)) return NULL;
    Node *x = op_mul(z, y);
    if (!simplify_fits(x, in[0])) return NULL;
    Node *sum = op_mul(op_sum(x, axis), drop_axis(c, rank, axis));
    return simplify_fits(sum, old) ? sum : NULL;
}

static bool is_product(const Node *n) { return op_info[n->op].class == CONTRACT && n->nin == 2; }

/* product(a, w) + product(b, u) = product(b, u) added to product(a, w): the second product adds to
** the result of the first in place, if nothing else reads the second. */
static Node *add_products(Rebuild *r, const Node *old, Node **in) {
    const int *uses = ((const Simplify *)r->user)->uses;
    if (old->op != OP_add || !simplify_fits(in[0], old) || !simplify_fits(in[1], old)) return NULL;
    if (op_info[in[0]->op].class != CONTRACT) return NULL;
    if (!is_product(in[1]) || uses[old->in[0]->id] > 1 || uses[old->in[1]->id] > 1) return NULL;
    const char *error;
    Node *n = node_new(r->to, in[1]->op, 3, (Node *[]){ in[1]->in[0], in[1]->in[1], in[0] },
                       (Attr){ 0 }, &error);
    if (!n) bug(old, "%s", error);
    return n;
}

static Node *simplify_rule(Rebuild *r, const Node *old, Node **in) {
    Node *n;
    if ((n = add_zero(r, old, in)) || (n = add_later(r, old, in)) || (n = mul_one(r, old, in))
        || (n = select_known(r, old, in)) || (n = drop_repeat(r, old, in))
        || (n = add_concat(r, old, in)) || (n = slice_stack(old, in))
        || (n = concat_stack(r, old, in)) || (n = reshape_twice(old, in)) || (n = sum_one(old, in))
        || (n = sum_factor(old, in)) || (n = sum_inner_factor(old, in))
        || (n = add_products(r, old, in)))
        return n;
    return NULL;
}

Graph *pass_simplify(Graph *g) {
    const bool *needed = graph_needed(g);
    Simplify s = { .mem = g, .uses = graph_uses(g, needed) };
    return rebuild_needed(g, needed, simplify_rule, &s);
}
