/* SPDX-License-Identifier: MIT
** Statements of a row kernel, and which of them share a loop nest.
*/
#include "rows_analysis.h"

static Mode mode_of(const Node *n, bool uniform) {
    return uniform ? MODE_UNIFORM : rows_small(n) ? MODE_TOKENS : MODE_CHANNELS;
}

/* Statement s reads the stored value v at the element its own loops are at,
** and that is computed in loops it could be part of. */
static bool can_share(const Rows *r, const RowValue *v, const Statement *s, bool same) {
    const Statement *by = &r->statement[v->statement];
    return same && by->kind == ELEMENT && !by->piece && by->mode == s->mode
        && rows_same_elements(&by->base, &s->base);
}

static bool keeps_element(const Node *n, int i) {
    return rows_trivial(n) || n->op == OP_after
        || (class_of(n) == POINTWISE && rows_same_elements(&n->in[i]->shape, &n->shape));
}

/* Its pieces are read where the groups that compute them put them. */
static int after_series(const Rows *r, const RowSeries *s) {
    int last = -1;
    for (int i = 0; i < s->nlate; i++) {
        int group = r->statement[rows_value(r, s->late[i])->statement].group;
        if (group > last) last = group;
    }
    return last;
}

/* The group after which the statement can run; -1: any.  'same': n is read at
** the element that the statement's loops are at. */
static int after(const Rows *r, const Node *n, const Statement *s, bool same) {
    const RowValue *v = rows_value(r, n);
    if (v->in.series >= 0) return after_series(r, &r->series[v->in.series]);
    if (!v->here) return -1;
    if (v->stored) {
        const Statement *by = &r->statement[v->statement];
        if (by->mode == MODE_UNIFORM && s->mode != MODE_UNIFORM) return -1;
        return can_share(r, v, s, same) ? by->group - 1 : by->group;
    }
    int last = -1;
    for (int i = 0; i < node_reads(n); i++) {
        int g = after(r, n->in[i], s, same && keeps_element(n, i));
        if (g > last) last = g;
    }
    return last;
}

bool rows_by_row(const Rows *r, const StatementGroup *g) {
    return g->mode == MODE_CHANNELS && r->statement[g->first].kind != ITERATED;
}

/* The first of the groups that go through a tile's tokens together with this one; -1: it goes
** through them otherwise. */
static int token_loop(const Rows *r, int group) {
    int first = -1;
    for (int i = group; i >= 0 && rows_by_row(r, &r->group[i]); i--)
        first = i;
    return first;
}

static bool is_apart(const Rows *r, int group, int other) {
    int loop = token_loop(r, group);
    return loop < 0 || loop != token_loop(r, other);
}

/* Once its group is known: what it reads from other groups is kept in memory. */
static void keep_read(Rows *r, const Node *n, const Statement *s, bool same) {
    RowValue *v = rows_value(r, n);
    if (!v->here) return;
    if (v->stored) {
        int by = r->statement[v->statement].group;
        if (!can_share(r, v, s, same) || by != s->group) v->lies.memory = true;
        v->lies.apart |= is_apart(r, by, s->group);
        return;
    }
    for (int i = 0; i < node_reads(n); i++)
        keep_read(r, n->in[i], s, same && keeps_element(n, i));
}

static bool operand_same(const Node *n, const Statement *s, int i) {
    return s->kind == REDUCE_LAST || n->op == OP_after
        || (class_of(n) == POINTWISE && rows_same_elements(&n->in[i]->shape, &n->shape));
}

static int after_operands(const Rows *r, const Node *n, const Statement *s) {
    int last = -1;
    for (int i = 0; i < node_reads(n); i++) {
        int g = after(r, n->in[i], s, operand_same(n, s, i));
        if (g > last) last = g;
    }
    return last;
}

static bool can_join(const Rows *r, const StatementGroup *g, const Statement *s, int code) {
    return g->mode == s->mode && rows_same_elements(&g->base, &s->base) && s->kind != ITERATED
        && r->statement[g->first].kind != ITERATED && g->code + code <= ROWS_CODE;
}

static void join_group(Rows *r, Statement *s, int after_group) {
    const Node *of = s->piece ? s->piece : s->kind == PARTIAL ? s->node->in[0] : s->node;
    int g = after_group + 1, code = rows_value(r, of)->code.size;
    while (g < r->ngroup && !can_join(r, &r->group[g], s, code))
        g++;
    int id = (int)(s - r->statement);
    s->group = g;
    s->next = -1;
    if (g == r->ngroup) {
        r->group[r->ngroup++] = (StatementGroup){ s->mode, s->base, id, id, code, 1 };
        return;
    }
    r->group[g].code += code;
    r->group[g].count++;
    r->statement[r->group[g].last].next = id;
    r->group[g].last = id;
}

static Statement *new_statement(Rows *r, StatementKind kind, const Node *n, const Node *loops) {
    Statement *s = &r->statement[r->nstatement++];
    *s = (Statement){ .kind = kind, .node = n, .base = loops->shape };
    s->mode = mode_of(loops, n->shape.lead == LEAD_NONE && kind != PARTIAL);
    return s;
}

/* The pieces of a concat or stack are written where they belong. */
static void groups_add_pieces(Rows *r, RowValue *v) {
    const Node *n = v->n;
    bool stack = n->op == OP_stack;
    int last = -1;
    int64_t at = 0;
    for (int i = 0; i < n->nin; i++) {
        Statement *s = new_statement(r, ELEMENT, n, n->in[i]);
        s->mode = mode_of(n->in[i], n->shape.lead == LEAD_NONE);
        if (s->mode == MODE_TOKENS && !rows_small(n)) s->mode = MODE_CHANNELS;
        s->piece = n->in[i];
        s->axis = stack ? 0 : n->attr->axis;
        s->first = at;
        at += stack ? 1 : n->in[i]->shape.dim[n->attr->axis];
        join_group(r, s, after(r, n->in[i], s, true));
        keep_read(r, n->in[i], s, true);
        v->lies.apart |= is_apart(r, s->group, last < 0 ? s->group : last);
        if (s->group > last) last = s->group, v->statement = (int)(s - r->statement);
    }
    v->lies.memory = true;
}

static void add_statement(Rows *r, RowValue *v) {
    const Node *n = v->n;
    if (n->op == OP_concat || n->op == OP_stack) {
        groups_add_pieces(r, v);
        return;
    }
    bool reduce = class_of(n) == REDUCE && rows_last_axis(n) && !rows_small(n->in[0]);
    bool iterated = v->here && class_of(n) == ITERATION;
    StatementKind kind = reduce ? REDUCE_LAST : iterated ? ITERATED : ELEMENT;
    Statement *s = new_statement(r, kind, n, reduce ? n->in[0] : n);
    if (reduce) v->lies.memory = true;
    if (iterated && s->mode != MODE_UNIFORM) s->mode = MODE_TOKENS;
    int g = v->here ? after_operands(r, n, s) : -1;
    v->statement = (int)(s - r->statement);
    join_group(r, s, g);
    for (int i = 0; v->here && i < node_reads(n); i++)
        keep_read(r, n->in[i], s, operand_same(n, s, i));
}

static void add_partial(Rows *r, const Node *sum) {
    Statement *s = new_statement(r, PARTIAL, sum, sum->in[0]);
    join_group(r, s, after(r, sum->in[0], s, true));
    keep_read(r, sum->in[0], s, true);
}

void rows_find_statements(Rows *r) {
    const Step *s = r->step;
    size_t most = (size_t)s->n + 1;
    for (int i = 0; i < r->nvalue; i++)
        most += (size_t)r->value[i].n->nin + 2;
    RowsArrays *a = r->shared.arrays;
    if (most > a->statements) {
        a->statements = 2 * most;
        a->statement = graph_alloc(r->p->g, a->statements * sizeof *a->statement);
        a->group = graph_alloc(r->p->g, a->statements * sizeof *a->group);
    }
    r->statement = a->statement;
    r->group = a->group;
    for (int i = 0; i < r->nvalue; i++)
        if (r->value[i].stored) add_statement(r, &r->value[i]);
    for (int i = 0; i < s->n; i++)
        if (class_of(s->node[i]) == TOKENSUM) add_partial(r, s->node[i]);
}
