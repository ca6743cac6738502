/* SPDX-License-Identifier: MIT
** Questions about a node that all files of row kernels ask.
*/
#include "rows_analysis.h"

enum { LONG_AXIS = 16, FEW_ELEMENTS = 64 };

bool rows_small(const Node *n) {
    const Shape *s = &n->shape;
    if (s->rank == 0 || n->g->short_rows) return shape_count(s) == 1;
    return s->dim[s->rank - 1] < LONG_AXIS && shape_count(s) <= FEW_ELEMENTS;
}

static bool is_long_list(const Node *n) {
    return (n->op == OP_stack || n->op == OP_concat) && n->nin > ROWS_UNROLL
        && n->shape.lead == LEAD_TOKENS && shape_count(&n->in[0]->shape) > 1;
}

/* Pieces whose lanes are tokens are not found by number: code for a list of them grows with the
** square of its length. */
bool rows_are_short(const Graph *g) {
    bool list = false, embeds = false;
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        list |= is_long_list(n);
        embeds |= n->op == OP_embed;
        if (n->op == OP_embed && n->shape.dim[n->shape.rank - 1] >= LONG_AXIS) return false;
    }
    return list && embeds;
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

/* What is no row in memory from one token to the next: of a table, by position; bfloat16s. */
static bool is_elsewhere(const Node *n) {
    while (op_info[n->op].class == VIEW && n->op != OP_concat && n->op != OP_stack)
        n = n->in[0];
    return op_info[n->op].class == WAVE || plan_bf16(n);
}

bool rows_by_pointer(const Node *n) {
    if (n->op != OP_stack || n->shape.lead != LEAD_TOKENS || rows_small(n->in[0])) return false;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->shape.lead != LEAD_TOKENS) return false;
    for (int i = 0; n->nin > ROWS_UNROLL && i < n->nin; i++)
        if (is_elsewhere(n->in[i])) return false;
    return true;
}

/* Elements before the slice's first one, if its elements lie side by side; -1: they don't. */
static int64_t slice_offset(const Node *n) {
    const Shape *x = &n->in[0]->shape;
    int64_t inner = 1;
    for (int i = 0; i < n->attr->axis; i++)
        if (x->dim[i] != 1) return -1;
    for (int i = n->attr->axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    return n->attr->first * inner;
}

const RowValue *rows_piece(const Rows *r, const Node *piece, int64_t *offset) {
    const RowValue *v = rows_value(r, piece);
    for (*offset = 0; v && v->here && !v->stored; v = rows_value(r, v->n->in[0])) {
        if (v->n->op == OP_reshape || v->n->op == OP_after) continue;
        int64_t first = v->n->op == OP_slice ? slice_offset(v->n) : -1;
        if (first < 0) return NULL;
        *offset += first;
    }
    bool apart = v && v->here && rows_small(v->n); /* a tile's tokens are side by side */
    return v && !apart && op_info[v->n->op].class != WAVE && !plan_bf16(v->n) ? v : NULL;
}

bool rows_is_series(const Plan *p, const Node *n) {
    if (n->op != OP_stack || n->nin <= ROWS_UNROLL || p->buffer[n->id] || !rows_by_pointer(n))
        return false;
    const Buffer *first = plan_buffer(p, n->in[0]);
    for (int i = 0; i < n->nin; i++) {
        const Buffer *b = plan_buffer(p, n->in[i]);
        if (!b || b->stride != first->stride || plan_bf16(b->node) || rows_small(b->node))
            return false;
    }
    return true;
}

/* A reshape that only adds or drops axes of length 1. */
bool rows_trivial(const Node *n) {
    return n->op == OP_reshape && rows_same_elements(&n->shape, &n->in[0]->shape);
}

bool rows_last_axis(const Node *n) {
    const Shape *s = &n->in[0]->shape;
    for (int i = n->attr->axis + 1; i < s->rank; i++)
        if (s->dim[i] != 1) return false;
    return true;
}
