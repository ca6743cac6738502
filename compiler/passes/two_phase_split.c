/* SPDX-License-Identifier: MIT
** Reduces an expression over all sources to some of them.  It follows the sources' axis from the
** result down to the stack.  An operand without this axis is the same for every source and stays.
** A given operand with this axis (a parameter, random numbers, a constant) is sliced, and the
** stack becomes one of fewer sources.  A value without operands has a size of its own that no
** operand changes, so it is never built with another size.
*/
#include "two_phase.h"

/* An expression longer than this from its result to a source is left as it is. */
enum { DEEPEST = 200, NO_AXIS = -1, LOST = -2 };

/* == What is given ======================================================== */

/* Of values of tokens, only those without operands count as given; others would be computed long
** before they are needed. */
Notes notes_new(Graph *g) {
    size_t n = (size_t)g->n + 1;
    Notes notes = { .at = graph_alloc(g, n * sizeof *notes.at),
                    .given = graph_alloc(g, n * sizeof *notes.given),
                    .ahead = graph_alloc(g, n * sizeof *notes.ahead) };
    for (int i = 0; i < g->n; i++) {
        const Node *x = g->node[i];
        bool given = x->shape.lead == LEAD_NONE || !x->nin;
        for (int k = 0; given && k < x->nin; k++)
            given = notes.given[x->in[k]->id];
        notes.given[i] = given;
    }
    return notes;
}

/* == Following the axis =================================================== */

static int64_t elements_before(const Shape *s, int axis) {
    int64_t n = 1;
    for (int i = 0; i < axis; i++)
        n *= s->dim[i];
    return n;
}

/* The axis of x that is as long as y's and has as many elements before it. */
static int same_axis(const Shape *x, const Shape *y, int axis) {
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] == y->dim[axis] && elements_before(x, i) == elements_before(y, axis))
            return i;
    return LOST;
}

int split_axis(const Node *x, const Node *y, int axis) {
    for (; y != x && axis >= 0; y = y->in[0])
        axis = same_axis(&y->in[0]->shape, &y->shape, axis);
    return axis;
}

/* The sources' axis in operand i of n. */
static int operand_axis(const Node *n, int i, int axis) {
    const Node *x = n->in[i];
    int own = axis - (n->shape.rank - x->shape.rank);
    switch (op_info[n->op].class) {
    case POINTWISE: return own < 0 || x->shape.dim[own] == 1 ? NO_AXIS : own;
    case REDUCE: return axis + (n->attr->axis <= axis);
    case SOFTMAX: return n->attr->axis == axis ? LOST : axis;
    default: break;
    }
    if (n->op == OP_reshape) return same_axis(&x->shape, &n->shape, axis);
    if (n->op == OP_transpose) return n->attr->perm[axis];
    return n->op == OP_slice && n->attr->axis != axis ? axis : LOST;
}

static bool possible(const Node *n, int axis, const Node *stack, Notes *notes, int depth) {
    if (notes->given[n->id]) {
        notes->ahead[n->id] |= n->shape.lead == LEAD_TOKENS;
        return true;
    }
    /* an activation of all sources, or of another order; a sum over tokens of activations */
    if (axis < 0 || n->shape.lead == LEAD_NONE || depth == DEEPEST) return false;
    Note *note = &notes->at[n->id];
    if (note->walk == notes->walk) return note->axis == axis;
    *note = (Note){ notes->walk, axis, NULL };
    if (n->op == OP_stack) return n == stack && axis == 0;
    for (int i = 0; i < n->nin; i++) {
        int own = operand_axis(n, i, axis);
        if (own == LOST || !possible(n->in[i], own, stack, notes, depth + 1)) return false;
    }
    return true;
}

bool split_possible(const Node *n, int axis, const Node *stack, Notes *notes) {
    notes->walk++;
    return possible(n, axis, stack, notes, 0);
}

/* == Building ============================================================= */

typedef struct Split {
    Rebuild *r;
    const int *pick;
    int count;
    Notes *notes;
} Split;

/* Adjacent picked sources are one slice.  If x is a reshaped parameter, the slice is taken from the
** parameter itself, so that a reader can tell where the slice begins. */
static Node *pick_slices(const Split *s, Node *x, int axis) {
    int inner = x->op == OP_reshape ? same_axis(&x->in[0]->shape, &x->shape, axis) : LOST;
    if (inner >= 0) {
        Shape shape = x->shape;
        shape.dim[axis] = s->count;
        return op_reshape(pick_slices(s, x->in[0], inner), &shape);
    }
    Node **piece = graph_alloc(s->r->to, (size_t)s->count * sizeof *piece);
    int n = 0;
    for (int i = 0, k; i < s->count; i = k) {
        for (k = i + 1; k < s->count && s->pick[k] == s->pick[k - 1] + 1;)
            k++;
        piece[n++] = op_slice(x, axis, s->pick[i], k - i);
    }
    return op_concat(s->r->to, n, piece, axis);
}

static Node *pick_stack(const Split *s, const Node *n) {
    Node **piece = graph_alloc(s->r->to, (size_t)s->count * sizeof *piece);
    for (int i = 0; i < s->count; i++)
        piece[i] = s->r->map[n->in[s->pick[i]]->id];
    return op_stack(s->r->to, s->count, piece);
}

static Node *split(const Split *s, const Node *n, int axis);

static Node *split_operands(const Split *s, const Node *n, int axis) {
    Node **in = graph_alloc(s->r->to, ((size_t)n->nin + 1) * sizeof *in);
    for (int i = 0; i < n->nin; i++)
        in[i] = split(s, n->in[i], operand_axis(n, i, axis));
    s->r->to->loc = n->loc;
    if (n->op != OP_reshape) return rebuild_copy(s->r, n, in);
    Shape shape = n->shape;
    shape.dim[axis] = s->count;
    return op_reshape(in[0], &shape);
}

static Node *split(const Split *s, const Node *n, int axis) {
    if (axis < 0) return s->r->map[n->id];
    Note *note = &s->notes->at[n->id];
    if (note->walk == s->notes->walk) return note->copy;
    Node *x = n->op == OP_stack && axis == 0 ? pick_stack(s, n)
        : s->notes->given[n->id]             ? pick_slices(s, s->r->map[n->id], axis)
                                             : split_operands(s, n, axis);
    *note = (Note){ s->notes->walk, axis, x };
    return x;
}

Node *split_build(Rebuild *r, const Node *n, int axis, const int *pick, int count, Notes *notes) {
    Loc loc = r->to->loc;
    notes->walk++;
    Node *x = split(&(Split){ r, pick, count, notes }, n, axis);
    r->to->loc = loc;
    return x;
}
