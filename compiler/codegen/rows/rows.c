/* What every file of row kernels asks of a node. */
#include "rows_analysis.h"

enum { LONG_AXIS = 16, FEW_ELEMENTS = 64 };

bool rows_small(const Node *n) {
    const Shape *s = &n->shape;
    return s->rank == 0 || (s->dim[s->rank - 1] < LONG_AXIS && shape_count(s) <= FEW_ELEMENTS);
}

bool rows_same_elements(const Shape *a, const Shape *b) {
    int i = 0, k = 0;
    for (;;) {
        while (i < a->rank && a->dim[i] == 1)
            i++;
        while (k < b->rank && b->dim[k] == 1)
            k++;
        if (i == a->rank || k == b->rank) return i == a->rank && k == b->rank;
        if (a->dim[i++] != b->dim[k++]) return false;
    }
}

RowValue *rows_value(const Rows *r, const Node *n) {
    int s = r->slot[n->id];
    return s >= 0 && s < r->nvalue && r->value[s].n == n ? &r->value[s] : NULL;
}

bool rows_by_pointer(const Node *n) {
    if (n->op != OP_stack || n->shape.lead != LEAD_TOKENS || rows_small(n->in[0])) return false;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->shape.lead != LEAD_TOKENS) return false;
    return true;
}

/* A reshape that only adds or drops axes of length 1. */
bool rows_trivial(const Node *n) {
    return n->op == OP_reshape && rows_same_elements(&n->shape, &n->in[0]->shape);
}

bool rows_last_axis(const Node *n) {
    const Shape *s = &n->in[0]->shape;
    for (int i = n->attr.axis + 1; i < s->rank; i++)
        if (s->dim[i] != 1) return false;
    return true;
}
