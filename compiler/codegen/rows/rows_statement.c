/* SPDX-License-Identifier: MIT
** Statements of a row kernel: what one step of a group's loops computes and writes.
*/
#include "rows_code.h"
#include "fatal.h"

/* == Statements =========================================================== */

static int partial_operand(const RowCode *c, const Node *sum) {
    for (int i = 0; i < c->r->nfixed; i++)
        if (c->r->operand[i].node == sum && c->r->operand[i].ref.area == AREA_GRANULE) return i;
    bug(sum, "has no partial sums");
}

static void add_partial_sum(RowCode *c, const Node *sum, At at) {
    Emit *e = c->e;
    int op = partial_operand(c, sum);
    int64_t step;
    V x = expr_eval(c, sum->in[0], at);
    V offset = index_position(c, &sum->in[0]->shape, at, &step);
    V row = e_imul(
        e,
        e_idiv(e, e_isub(e, c->now.t0, LLVMBuildSRem(e->b, c->now.t0, e_i64(e, GRANULE), "")),
               GRANULE),
        memory_stride(c, op));
    V address = e_at(e, memory_base(c, op), e_iadd(e, row, offset));
    if (c->now.mode == MODE_TOKENS) {
        x = e_sum_lanes(e, e_keep_lanes(e, e_splat(e, x, c->now.lanes), c->now.rows, e_f32(e, 0)));
        memory_test(c, op, address, 1, true);
        e_store(e, address, e_add(e, e_load(e, address, 1), x));
    } else memory_store(c, op, address, step, e_add(e, memory_load(c, op, address, step), x));
}

/* The piece's element goes to its place in the whole. */
static At place_piece(RowCode *c, const Statement *s, At at) {
    At to = { .lane = at.lane };
    V first = code_number(c, s, NUMBER_FIRST, s->first);
    if (s->node->op == OP_stack) {
        to.idx[0] = first;
        for (int i = 0; i < s->piece->shape.rank; i++)
            to.idx[i + 1] = at.idx[i];
        to.lane = at.lane < 0 ? -1 : at.lane + 1;
        return to;
    }
    for (int i = 0; i < s->piece->shape.rank; i++)
        to.idx[i] = i == s->axis ? e_iadd(c->e, at.idx[i], first) : at.idx[i];
    return to;
}

static void statement_element(RowCode *c, const Statement *s, At at) {
    const RowValue *v = rows_value(c->r, s->node);
    if (s->piece) {
        memory_write(c, v, place_piece(c, s, at), expr_eval(c, s->piece, at));
        return;
    }
    c->now.current = s->node;
    V x = expr_eval(c, s->node, at);
    c->now.current = NULL;
    expr_remember(c, s->node, &at, x);
    memory_write(c, v, at, x);
}

/* == Reductions together =================================================== */

At nest_at(RowCode *c, const Nest *n, const Shape *s, bool lanes) {
    At at = { .lane = lanes ? index_last_axis(s) : -1 };
    int k = 0;
    for (int i = 0; i < s->rank; i++)
        at.idx[i] = s->dim[i] == 1 ? e_i64(c->e, 0) : n->idx[k++];
    return at;
}

/* Whether n, as far as it is computed in place, reads what statement 'first' of the group or one
** behind it computes. */
static bool reads_from(const RowCode *c, const Node *n, int first) {
    const RowValue *v = rows_value(c->r, n);
    if (!v->here || v->in.series >= 0) return false;
    if (v->stored) {
        int group = c->r->statement[first].group;
        for (int i = first; i >= 0; i = c->r->statement[i].next)
            if (c->r->statement[i].node == n) return true;
        return v->statement >= 0 && c->r->statement[v->statement].group > group;
    }
    for (int i = 0; i < node_reads(n); i++)
        if (reads_from(c, n->in[i], first)) return true;
    return false;
}

/* The reduction that a statement is, or adds up over tokens; NULL: it is no such statement. */
static const Node *reduction_of(RowCode *c, const Nest *n, const Statement *s, bool lanes, At *at) {
    const Node *x = s->kind == PARTIAL ? s->node->in[0] : s->node;
    if (s->piece || (s->kind != ELEMENT && s->kind != PARTIAL)) return NULL;
    *at = nest_at(c, n, &x->shape, lanes);
    while (s->kind == PARTIAL && x->op == OP_reshape
           && rows_same_elements(&x->shape, &x->in[0]->shape) && !rows_value(c->r, x)->stored) {
        *at = index_retrace(c, &x->shape, &x->in[0]->shape, *at);
        x = x->in[0];
    }
    const RowValue *v = rows_value(c->r, x);
    bool own = s->kind == ELEMENT || (v->here && !v->stored);
    return own && op_info[x->op].class == REDUCE ? x : NULL;
}

/* Reductions from this statement on are one loop where they go over as many steps: most of what
** they read is the same. */
static void join_reductions(RowCode *c, const Nest *n, int first, bool lanes) {
    const Node *node[EXPR_TOGETHER];
    At at[EXPR_TOGETHER];
    int many = 0;
    for (int i = first; i >= 0 && many < EXPR_TOGETHER; i = c->r->statement[i].next) {
        const Node *x = reduction_of(c, n, &c->r->statement[i], lanes, &at[many]);
        if (!x || expr_known(c, x, &at[many]) || !expr_joins(c, x, many ? node[0] : x)
            || (many && reads_from(c, x->in[0], first)))
            break;
        node[many++] = x;
    }
    if (many > 1) expr_together(c, node, at, many);
}

/* == A step =============================================================== */

static const Shape *loops_of(const Statement *s) {
    return s->kind == REDUCE_LAST ? &s->node->in[0]->shape
        : s->kind == PARTIAL      ? &s->node->in[0]->shape
        : s->piece                ? &s->piece->shape
                                  : &s->node->shape;
}

void statements_emit(RowCode *c, Nest *n, bool lanes) {
    int k = 0;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next, k++) {
        const Statement *s = &c->r->statement[i];
        At at = nest_at(c, n, loops_of(s), lanes);
        join_reductions(c, n, i, lanes);
        if (s->kind == ELEMENT) statement_element(c, s, at);
        if (s->kind == PARTIAL) add_partial_sum(c, s->node, at);
        if (s->kind == REDUCE_LAST)
            e_set(c->e, n->sum[k],
                  expr_combine(c, s->node, e_get(c->e, n->sum[k]), s->node->in[0], at));
    }
}
