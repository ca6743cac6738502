/* SPDX-License-Identifier: MIT
** What the code of a group of pieces depends on (rows_repeats.h).  It follows what rows_loops.c,
** rows_expr.c and rows_memory.c look at: a number that they take from the plan, and not from
** repeats_number(), is a word.
*/
#include "rows_code.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

/* Before the number of a part that is unlike every other one. */
enum { UNLIKE = -1 };

typedef struct PieceWords {
    RowCode *c;
    LikeParts *parts;
    int *part;  /* by value: the part that met it last, counted from 1 */
    int *place; /* and as which of that part's values */
    int places;
} PieceWords;

static void word(PieceWords *p, int64_t w) { parts_word(p->parts, w); }

static void add_double(PieceWords *p, double value) {
    int64_t w;
    memcpy(&w, &value, sizeof w);
    word(p, w);
}

static void add_unlike(PieceWords *p) {
    word(p, UNLIKE);
    word(p, p->parts->n);
}

/* Code for a value that is met again in the part is that of the first time. */
static bool is_new(PieceWords *p, const RowValue *v) {
    int i = (int)(v - p->c->r->value);
    bool new = p->part[i] != p->parts->n;
    if (new) p->part[i] = p->parts->n, p->place[i] = p->places++;
    word(p, p->place[i]);
    return new;
}

/* Which of its axes have indices. */
static void add_axes(PieceWords *p, const Shape *s) {
    word(p, s->lead);
    word(p, s->rank);
    for (int i = 0; i < s->rank; i++)
        word(p, s->dim[i] == 1);
}

static void add_lengths(PieceWords *p, const Shape *s, int first) {
    for (int i = first; i < s->rank; i++)
        word(p, s->dim[i]);
}

/* Of one in rows how long the first axis is says nothing about where an element lies. */
static void add_place(PieceWords *p, const RowValue *v) {
    const Rows *r = p->c->r;
    bool scratch = v->here && v->lies.scratch >= 0, wave = op_info[v->n->op].class == WAVE;
    word(p,
         v->here + 2 * scratch + 4 * v->lies.apart + 8 * rows_small(v->n) + 16 * plan_bf16(v->n));
    add_axes(p, &v->n->shape);
    add_lengths(p, &v->n->shape, r->count || v->lies.apart || wave ? 0 : 1);
    if (scratch) {
        word(p, v->lies.scratch_each);
        word(p, v->lies.scratch_square);
        parts_number(p->parts, v, NUMBER_SCRATCH, v->lies.scratch);
        return;
    }
    int operand = v->here ? v->lies.out[0] : v->lies.operand;
    word(p, r->operand[operand].ref.stride);
    word(p, r->operand[operand].stride);
    word(p, wave);
    if (wave || plan_bf16(v->n)) word(p, operand);
    else parts_number(p->parts, v, NUMBER_OPERAND, operand);
}

static void pieces_add_value(PieceWords *p, const Node *n);

static void add_pointwise(PieceWords *p, const RowValue *v) {
    word(p, v->weight);
    add_double(p, v->n->attr->value);
    word(p, v->n->nin);
    for (int i = 0; i < v->n->nin; i++) {
        word(p, v->in.number[i]);
        if (v->in.number[i] < 0) pieces_add_value(p, v->n->in[i]);
    }
}

static void add_slice(PieceWords *p, const RowValue *v) {
    const Node *n = v->n;
    bool begins = rows_begins(p->c->r, n->attr->first);
    word(p, n->attr->axis);
    word(p, v->in.first);
    word(p, begins ? n->attr->first : -1);
    if (v->in.first < 0 && !begins) parts_number(p->parts, v, NUMBER_FIRST, n->attr->first);
    pieces_add_value(p, n->in[0]);
}

/* Read in another order of elements: where its operand lies. */
static void add_reshaped(PieceWords *p, const Node *n) {
    const Node *x = plan_storage(n);
    const RowValue *v = rows_value(p->c->r, x);
    add_lengths(p, &n->shape, 0);
    word(p, x->op == OP_fill);
    if (x->op == OP_fill) {
        add_double(p, x->attr->value);
        return;
    }
    word(p, v->in.series);
    if (v->in.series < 0 && is_new(p, v)) add_place(p, v);
}

/* Whether its steps are written out depends on what it adds up. */
static void add_reduction(PieceWords *p, const Node *n) {
    const RowValue *x = rows_value(p->c->r, n->in[0]);
    word(p, n->attr->axis);
    word(p, x->code.steps);
    word(p, x->code.reads_rows + 2 * x->code.reads_pieces);
    add_lengths(p, &n->in[0]->shape, 0);
    pieces_add_value(p, n->in[0]);
}

static void add_expression(PieceWords *p, const RowValue *v) {
    const Node *n = v->n;
    if (op_info[n->op].class == POINTWISE || op_info[n->op].class == REDUCE) {
        if (op_info[n->op].class == REDUCE) add_reduction(p, n);
        else add_pointwise(p, v);
        return;
    }
    switch (n->op) {
    case OP_reshape:
        word(p, rows_same_elements(&n->shape, &n->in[0]->shape));
        if (rows_same_elements(&n->shape, &n->in[0]->shape)) pieces_add_value(p, n->in[0]);
        else add_reshaped(p, n);
        return;
    case OP_after: pieces_add_value(p, n->in[0]); return;
    case OP_slice: add_slice(p, v); return;
    case OP_transpose:
        for (int i = 0; i < n->shape.rank; i++)
            word(p, n->attr->perm[i]);
        pieces_add_value(p, n->in[0]);
        return;
    default: add_unlike(p);
    }
}

/* What expr_eval does for an element. */
static void pieces_add_value(PieceWords *p, const Node *n) {
    word(p, n->op == OP_fill);
    if (n->op == OP_fill) {
        add_double(p, n->attr->value);
        return;
    }
    const RowValue *v = rows_value(p->c->r, n);
    if (!is_new(p, v)) return;
    bool computed = v->here && !v->stored;
    word(p, computed ? (int64_t)n->op : -1);
    if (computed) {
        add_axes(p, &n->shape);
        add_expression(p, v);
        return;
    }
    word(p, v->in.series); /* its pieces are found by number */
    if (v->in.series < 0) add_place(p, v);
}

static void add_statement(PieceWords *p, const Statement *s) {
    const RowValue *whole = rows_value(p->c->r, s->node);
    word(p, s->node->op);
    word(p, s->axis);
    add_axes(p, &s->piece->shape);
    parts_number(p->parts, s, NUMBER_FIRST, s->first);
    pieces_add_value(p, s->piece);
    if (is_new(p, whole)) add_place(p, whole);
}

/* Stacks that are read have tables, or code for each of their pieces. */
static bool reads_stacks(const RowCode *c, const StatementGroup *g) {
    for (int i = g->first; i >= 0; i = c->r->statement[i].next)
        if (expr_reads_stack(c, c->r->statement[i].piece)) return true;
    return false;
}

/* The lengths of its loops; how many copies of a body are written depends on its code. */
static bool add_loops(PieceWords *p, const StatementGroup *g) {
    const Rows *r = p->c->r;
    int64_t dim[MAXRANK];
    int rank = 0;
    for (int i = 0; i < g->base.rank; i++)
        if (g->base.dim[i] != 1) dim[rank++] = g->base.dim[i];
    word(p, rank);
    if (!rank) return true;
    if (rows_counts(r, dim[rank - 1]) || (rank > 1 && g == p->c->soon.group)) return false;
    for (int i = 0; i < rank - 1; i++)
        word(p, dim[i]);
    int64_t length = dim[rank - 1];
    word(p, rank > 1 ? g->code : 0);
    word(p, rank > 1 && tables_wanted(p->c, g, length));
    word(p, length >= r->lanes);
    parts_number(p->parts, g, NUMBER_LENGTH, length);
    return true;
}

static void add_group(PieceWords *p, const StatementGroup *g) {
    const Rows *r = p->c->r;
    p->places = 0;
    parts_next(p->parts);
    word(p, g->count);
    if (reads_stacks(p->c, g) || !add_loops(p, g)) {
        add_unlike(p);
        return;
    }
    for (int i = g->first; i >= 0; i = r->statement[i].next)
        add_statement(p, &r->statement[i]);
}

void pieces_list(RowCode *c, LikeParts *parts, int first, int groups) {
    size_t values = (size_t)c->r->nvalue + 1;
    PieceWords p = { .c = c,
                     .parts = parts,
                     .part = checked_new(values, sizeof *p.part),
                     .place = checked_new(values, sizeof *p.place) };
    for (int i = first; i < first + groups; i++)
        add_group(&p, &c->r->group[i]);
    free(p.part), free(p.place);
}
