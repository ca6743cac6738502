/* SPDX-License-Identifier: MIT
** Which exponentials are weights of a softmax: those of x minus the largest x, or minus something
** larger.  None is above 1, and its error counts in proportion to the weight, so a faster
** exponential is accurate enough.
*/
#include "op.h"
#include "rows_analysis.h"

enum { LOOKED_AT = 64 }; /* values; beyond it, the exponential is any other */

/* The same value: the same node, or one that is computed again of the same. */
static bool same_value(const Node *a, const Node *b, int *left) {
    if (a == b) return true;
    if (--*left < 0 || a->op != b->op || a->nin != b->nin) return false;
    Class class = class_of(a);
    Attr of_a = *a->attr, of_b = *b->attr;
    of_a.copy = of_b.copy = 0;
    if ((class != POINTWISE && class != VIEW) || !attr_same(op_info[a->op].attr, &of_a, &of_b))
        return false;
    for (int i = 0; i < a->nin; i++)
        if (!same_value(a->in[i], b->in[i], left)) return false;
    return true;
}

static const Node *bare(const Node *n) {
    while (rows_trivial(n) || n->op == OP_stop_gradient || n->op == OP_after)
        n = n->in[0];
    return n;
}

/* Whether 'of' is x, and what is seen as 'seen' has an element for each of x's, but one for all
** along 'axis'; -1: along none. */
static bool covers(const Node *of, int axis, const Shape *seen, const Node *x, int *left) {
    const Shape *s = &x->shape;
    int missing = s->rank - seen->rank;
    if (missing < 0 || of->shape.lead != s->lead || of->shape.rank != s->rank
        || !same_value(bare(of), bare(x), left))
        return false;
    for (int i = 0; i < s->rank; i++) {
        int64_t dim = i < missing ? 1 : seen->dim[i - missing];
        if (of->shape.dim[i] != s->dim[i] || dim != (i == axis ? 1 : s->dim[i])) return false;
    }
    return true;
}

/* Whether p, seen as 'seen', has for each element of x one that is as large: x's own, the largest
** along an axis, or the larger of such a value and another. */
static bool reaches(const Node *p, const Shape *seen, const Node *x, int *left) {
    p = bare(p);
    if (--*left < 0) return false;
    if (p->op == OP_max && !same_value(p, bare(x), left))
        return reaches(p->in[0], seen, x, left) || reaches(p->in[1], seen, x, left);
    return covers(p, -1, seen, x, left)
        || (p->op == OP_peak && covers(p->in[0], p->attr->axis, seen, x, left));
}

bool rows_is_weight(const Node *n) {
    if (n->op != OP_exp || n->in[0]->op != OP_sub) return false;
    const Node *x = n->in[0]->in[0], *p = n->in[0]->in[1];
    int left = LOOKED_AT;
    return reaches(p, &p->shape, x, &left);
}
