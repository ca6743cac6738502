/* SPDX-License-Identifier: MIT
** Series: long stacks whose pieces lie in memory.  A kernel finds the pieces by number in a loop
** instead of having code for each one, so its code is as short for a thousand pieces as for a
** hundred.  If nothing else in the kernel depends on the number of pieces, the code is the same
** for both: lengths and strides are then operands.
*/
#include "rows_analysis.h"

#include <string.h>

RowSeries *rows_new_series(Rows *r) {
    r->series = graph_grown(r->p->g, r->series, r->nseries, &r->most_series, sizeof *r->series);
    return &r->series[r->nseries++];
}

bool rows_cut_anywhere(const Shape *s) {
    int least = s->lead == LEAD_TOKENS ? 2 : 1; /* a few numbers of a token have a fixed stride */
    return s->rank >= least && s->dim[0] > ROWS_UNROLL;
}

/* Axes as long as the series, at most two, are longer than what is written out. */
static bool series_is_plain(const Rows *r, const Node *n) {
    int times = rows_counted_axes(r, &n->shape);
    for (int i = 0; i < n->shape.rank; i++)
        if (rows_counts(r, n->shape.dim[i]) && n->shape.dim[i] <= ROWS_UNROLL) return false;
    return times == 0 || (times <= 2 && !plan_bf16(n));
}

static bool reads_counted(const Rows *r, const Node *n) {
    bool any = rows_counted(r, &n->shape);
    for (int i = 0; i < node_reads(n); i++)
        any |= rows_counted(r, &n->in[i]->shape);
    return any;
}

/* The code for the value is the same for series of other lengths, if their lengths come with the
** operands.  Where a piece of a concat goes is written into the code, and so is how far apart
** lanes are. */
static bool is_general(const Rows *r, const RowValue *v) {
    if (!series_is_plain(r, v->n)) return false;
    if (!v->here) return true;
    switch (v->n->op) {
    case OP_transpose:
    case OP_concat: return !reads_counted(r, v->n);
    case OP_stack: return !reads_counted(r, v->n) && v->n->nin <= ROWS_UNROLL;
    default: return true;
    }
}

static bool is_any_length(const Rows *r) {
    for (int i = 0; i < r->nseries; i++)
        if (r->series[i].stack->nin != r->series[0].stack->nin) return false;
    for (int i = 0; i < r->nvalue; i++)
        if (!is_general(r, &r->value[i])) return false;
    return true;
}

/* A row that holds a series, or as many cotangents of a longer one. */
static bool series_is_long(const Rows *r, const Operand *o) {
    const Node *n = o->node;
    if (!n || (n->shape.lead != LEAD_TOKENS && o->ref.area != AREA_GRANULE)) return false;
    return rows_counted(r, &n->shape) || (n->shape.rank > 1 && n->shape.dim[0] > ROWS_UNROLL);
}

static void add_strides(Rows *r) {
    for (int i = 0, n = r->noperand; i < n; i++) {
        if (!series_is_long(r, &r->operand[i])) continue;
        int at = rows_add_number(r, r->operand[i].ref.stride);
        r->operand[i].stride = at;
    }
}

/* Which of a list's cotangents, or of its weights, a kernel reads differs from layer to layer. */
static void add_firsts(Rows *r) {
    for (int i = 0; i < r->nvalue; i++) {
        RowValue *v = &r->value[i];
        if (v->n->op != OP_slice || !v->here || v->n->attr->axis) continue;
        const RowValue *x = rows_value(r, v->n->in[0]);
        const Shape *s = &x->n->shape;
        if (!x->here && rows_cut_anywhere(s)) v->in.first = rows_add_number(r, v->n->attr->first);
    }
}

/* How long a list is in this kernel: a series, or the longest that a uniform step adds up for the
** first pieces of a longer one; 0: neither. */
static int64_t list_length(const Rows *r) {
    if (r->nseries) return r->series[0].stack->nin;
    int64_t longest = 0;
    for (int i = 0; r->step->kind == STEP_UNIFORM && i < r->nvalue; i++) {
        const Node *n = r->value[i].n;
        bool first = r->value[i].here && n->op == OP_slice && !n->attr->axis && !n->attr->first;
        const RowValue *x = first ? rows_value(r, n->in[0]) : NULL;
        if (x && !x->here && rows_cut_anywhere(&x->n->shape) && n->attr->count > longest)
            longest = n->attr->count;
    }
    return longest > ROWS_UNROLL ? longest : 0;
}

void rows_find_count(Rows *r) {
    if (r->p->guarded) return;
    r->count = list_length(r);
    if (!is_any_length(r)) r->count = 0;
    if (r->count) r->count_at = rows_add_number(r, r->count);
    add_strides(r);
    add_firsts(r);
}

/* A few numbers per token are computed otherwise than many, and a series can be both. */
void rows_confirm_count(Rows *r) {
    for (int i = 0; i < r->nvalue && r->count; i++) {
        const Node *n = r->value[i].n;
        if (r->value[i].stored && rows_counted(r, &n->shape) && rows_small(n)) r->count = 0;
    }
    for (int i = 0; i < r->nstatement && r->count; i++) {
        const Statement *s = &r->statement[i];
        if (rows_counted(r, &s->base) && s->mode == MODE_TOKENS) r->count = 0;
    }
}

void rows_place_series(Rows *r) {
    r->nfixed = r->noperand;
    for (int i = 0; i < r->nseries; i++) {
        RowSeries *s = &r->series[i];
        s->first = r->noperand;
        for (int k = 0; k < s->stack->nin; k++)
            rows_add_operand(r, place_of(r->p, s->stack->in[k]), s->stack->in[k], false);
    }
}
