/* SPDX-License-Identifier: MIT
** Expressions of a row kernel.
**
** A memo holds what was evaluated at the same index in the same loop body, so that a value with
** many readers is loaded or computed once.
*/
#include "lines.h"
#include "rows_code.h"
#include "fatal.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

/* == Memo ================================================================= */

static bool same_at(const At *a, const At *b, int rank) {
    if (a->lane != b->lane) return false;
    for (int i = 0; i < rank; i++)
        if (a->idx[i] != b->idx[i]) return false;
    return true;
}

static uint64_t hash_memo(const RowCode *c, const Node *n, const At *at) {
    uint64_t h = hash_word(HASH_START, (uint64_t)n->id);
    h = hash_word(h, (uint64_t)c->now.lanes << 8 | (uint64_t)(at->lane + 1));
    for (int i = 0; i < n->shape.rank; i++)
        h = hash_word(h, (uint64_t)(uintptr_t)at->idx[i]);
    return h;
}

static int *rows_expr_list_of(const RowCode *c, uint64_t hash) {
    return &c->memos.last[hash & (2 * (uint64_t)c->memos.most - 1)];
}

static V recall(const RowCode *c, const Node *n, const At *at) {
    uint64_t hash = hash_memo(c, n, at);
    for (int i = c->memos.n ? *rows_expr_list_of(c, hash) : -1; i >= 0; i = c->memos.at[i].before)
        if (c->memos.at[i].n == n && c->memos.at[i].lanes == c->now.lanes
            && same_at(&c->memos.at[i].at, at, n->shape.rank))
            return c->memos.at[i].value;
    return NULL;
}

bool expr_known(const RowCode *c, const Node *n, const At *at) { return recall(c, n, at) != NULL; }

static void more_memos(RowCode *c) {
    c->memos.most = c->memos.most ? 2 * c->memos.most : 256;
    c->memos.at = checked_more(c->memos.at, (size_t)c->memos.most, sizeof *c->memos.at);
    c->memos.last = checked_more(c->memos.last, 2 * (size_t)c->memos.most, sizeof *c->memos.last);
    memset(c->memos.last, -1, 2 * (size_t)c->memos.most * sizeof *c->memos.last);
    for (int i = 0; i < c->memos.n; i++) {
        int *last = rows_expr_list_of(c, c->memos.at[i].hash);
        c->memos.at[i].before = *last;
        *last = i;
    }
}

V expr_remember(RowCode *c, const Node *n, const At *at, V value) {
    if (c->memos.n == c->memos.most) more_memos(c);
    uint64_t hash = hash_memo(c, n, at);
    int *last = rows_expr_list_of(c, hash);
    c->memos.at[c->memos.n] = (Memo){ n, *at, c->now.lanes, value, hash, *last };
    *last = c->memos.n++;
    return value;
}

void expr_forget(RowCode *c, int mark) {
    while (c->memos.n > mark) {
        const Memo *m = &c->memos.at[--c->memos.n];
        *rows_expr_list_of(c, m->hash) = m->before;
    }
}

/* == Expressions ========================================================== */

static bool inlined(const RowCode *c, const Node *n, Op op) {
    const RowValue *v = rows_value(c->r, n);
    return n->op == op && v->here && !v->stored;
}

static V operand(RowCode *c, const Node *n, int i, At at) {
    int number = rows_value(c->r, n)->in.number[i];
    if (number >= 0) return e_number_f32(c->e, memory_base(c, number));
    return expr_eval(c, n->in[i], index_project(c, &n->shape, &n->in[i]->shape, at));
}

/* a * b + x, where one side of an addition is a product of its own. */
static V eval_sum(RowCode *c, const Node *n, At at) {
    for (int i = 0; i < 2; i++) {
        const Node *m = n->in[i];
        At inner = index_project(c, &n->shape, &m->shape, at);
        if (!inlined(c, m, OP_mul) || recall(c, m, &inner)) continue;
        V a = operand(c, m, 0, inner), b = operand(c, m, 1, inner), x = operand(c, n, 1 - i, at);
        if (n->op == OP_sub && i == 0) x = e_neg(c->e, x);
        if (n->op == OP_sub && i == 1) a = e_neg(c->e, a);
        return e_fma(c->e, a, b, x);
    }
    V a = operand(c, n, 0, at), b = operand(c, n, 1, at);
    return n->op == OP_add ? e_add(c->e, a, b) : e_sub(c->e, a, b);
}

static V eval_pointwise(RowCode *c, const Node *n, At at) {
    Emit *e = c->e;
    if (n->op == OP_add || n->op == OP_sub) return eval_sum(c, n, at);
    if (rows_value(c->r, n)->weight) return e_exp_weight(e, operand(c, n, 0, at));
    V x = operand(c, n, 0, at), a = x, b = n->nin > 1 ? operand(c, n, 1, at) : NULL;
    if (n->nin == 3) {
        V choice = x, yes = b, no = operand(c, n, 2, at);
        return e_select(e, choice, yes, no);
    }
    switch (n->op) {
#define OP1(name, f64, dx, llvm, cost, again, help) \
    case OP_##name: return llvm;
#define OP2(name, f64, da, db, llvm, cost, again, help) \
    case OP_##name: return llvm;
#define OP3(name, ...)
#define OP(name, ...)
#include "ops.def"
    default: bug(n, "is not pointwise");
    }
    (void)b, (void)a;
}

/* Product and sum in one for what a reduction adds up. */
static V rows_expr_accumulate(RowCode *c, V sum, const Node *x, At at) {
    if (inlined(c, x, OP_mul) && !recall(c, x, &at)) {
        V a = operand(c, x, 0, at), b = operand(c, x, 1, at);
        return e_fma(c->e, a, b, sum);
    }
    return e_add(c->e, sum, expr_eval(c, x, at));
}

V expr_start(RowCode *c, const Node *n) {
    return n->op == OP_sum ? e_f32(c->e, 0) : e_f32(c->e, -__builtin_inf());
}

V expr_combine(RowCode *c, const Node *n, V sum, const Node *x, At at) {
    return n->op == OP_sum ? rows_expr_accumulate(c, sum, x, at)
                           : e_max(c->e, expr_eval(c, x, at), sum);
}

bool expr_reads_stack(const RowCode *c, const Node *n) {
    const RowValue *v = rows_value(c->r, n);
    return v && v->code.reads_stack;
}

bool expr_reads_pieces(const RowCode *c, const Node *n) {
    const RowValue *v = rows_value(c->r, n);
    return v && v->code.reads_pieces;
}

bool expr_reads_rows(const RowCode *c, const Node *n) {
    const RowValue *v = rows_value(c->r, n);
    return v && v->code.reads_rows;
}

static At rows_expr_widen(const Node *n, At at, V j) {
    int axis = n->attr->axis;
    At in = { .lane = at.lane < 0 ? -1 : at.lane + (at.lane >= axis) };
    for (int i = 0, k = 0; i < n->in[0]->shape.rank; i++)
        in.idx[i] = i == axis ? j : at.idx[k++];
    return in;
}

/* Whether the steps of a reduction are a loop, and not written out. */
static bool is_loop(const RowCode *c, const Node *n) {
    const Node *x = n->in[0];
    int64_t count = x->shape.dim[n->attr->axis];
    bool tokens = c->now.mode == MODE_TOKENS, stack = expr_reads_stack(c, x);
    bool wanted = count <= ROWS_UNROLL ? stack || (tokens && !expr_reads_rows(c, x))
                                       : stack && tokens;
    int64_t steps = c->stacks.few ? rows_value(c->r, x)->code.steps
                                  : 1; /* else code for all pieces is in each */
    int64_t copies = c->now.copies * count;
    bool few = copies * steps <= ROWS_COPIES
        && (!tokens || copies * c->now.statements <= ROWS_STEPS);
    few |= expr_reads_pieces(c, x);
    return count > 4 && !(wanted && few);
}

/* Reductions over as many steps, in one loop. */
static void reduce_in_loop(RowCode *c, const Node *const *n, const At *at, int many, V *result) {
    Emit *e = c->e;
    V var[EXPR_TOGETHER];
    for (int i = 0; i < many; i++) {
        V start = e_splat(e, expr_start(c, n[i]), c->now.lanes);
        var[i] = e_var(e, start);
        e_set(e, var[i], start);
    }
    int64_t count = n[0]->in[0]->shape.dim[n[0]->attr->axis];
    Loop l = e_loop_once(e, e_i64(e, 0), index_length(c, count), 1);
    int mark = c->memos.n;
    for (int i = 0; i < many; i++) {
        LLVMMetadataRef before = lines_set(e->lines, n[i]->loc);
        e_set(e, var[i],
              expr_combine(c, n[i], e_get(e, var[i]), n[i]->in[0],
                           rows_expr_widen(n[i], at[i], l.i)));
        lines_back(e->lines, before);
    }
    expr_forget(c, mark);
    e_end(e, l);
    for (int i = 0; i < many; i++)
        result[i] = e_get(e, var[i]);
}

bool expr_joins(const RowCode *c, const Node *n, const Node *with) {
    if (op_info[n->op].class != REDUCE || op_info[with->op].class != REDUCE) return false;
    const Shape *a = &n->in[0]->shape, *b = &with->in[0]->shape;
    return is_loop(c, n) && is_loop(c, with) && a->dim[n->attr->axis] == b->dim[with->attr->axis];
}

void expr_together(RowCode *c, const Node *const *n, const At *at, int many) {
    V result[EXPR_TOGETHER];
    reduce_in_loop(c, n, at, many, result);
    for (int i = 0; i < many; i++)
        expr_remember(c, n[i], &at[i], result[i]);
}

/* A reduction inside its user's loops: over an axis that is not the lanes'. */
static V eval_reduce(RowCode *c, const Node *n, At at) {
    Emit *e = c->e;
    const Node *x = n->in[0];
    int64_t count = x->shape.dim[n->attr->axis];
    V sum = expr_start(c, n);
    if (!is_loop(c, n)) {
        c->now.copies *= count;
        for (int64_t j = 0; j < count; j++)
            sum = expr_combine(c, n, sum, x, rows_expr_widen(n, at, e_i64(e, j)));
        c->now.copies /= count;
        return sum;
    }
    reduce_in_loop(c, &n, &at, 1, &sum);
    return sum;
}

/* The piece's element is at the index of the stack's behind the first axis. */
static At in_piece(const Node *stack, At at) {
    At in = { .lane = at.lane > 0 ? at.lane - 1 : -1 };
    for (int i = 1; i < stack->shape.rank; i++)
        in.idx[i - 1] = at.idx[i];
    return in;
}

/* Through the table that tables_fill made. */
static V eval_row(RowCode *c, const Node *n, V j, At in) {
    Emit *e = c->e;
    int id = (int)(rows_value(c->r, n) - c->r->value);
    if (c->now.mode != MODE_CHANNELS || !c->stacks.row_table[id]) bug(n, "has no table of rows");
    V row = memory_table_row(c, id, j);
    int64_t step;
    V address = e_at(e, row, index_position(c, &n->in[0]->shape, in, &step));
    fence_test_row(e, &c->fence, row, shape_count(&n->in[0]->shape), address, memory_span(c, step));
    return memory_load(c, TESTED, address, step);
}

/* Of few pieces, where a loop goes along them: all, of which one is taken. */
static V eval_chosen(RowCode *c, const Node *n, V j, At in) {
    Emit *e = c->e;
    V x = e_splat(e, expr_eval(c, n->in[n->nin - 1], in), c->now.lanes);
    for (int i = n->nin - 1; i-- > 0;) {
        V before = e_splat(e, expr_eval(c, n->in[i], in), c->now.lanes);
        x = LLVMBuildSelect(e->b, e_ilt(e, j, e_i64(e, i + 1)), before, x, "");
    }
    return x;
}

static V eval_piece(RowCode *c, const Node *n, V j, At in) {
    int64_t number;
    const RowValue *v = rows_value(c->r, n);
    if (v->in.series >= 0) {
        int64_t step;
        V offset = index_position(c, &n->in[0]->shape, in, &step);
        return memory_piece(c, &c->r->series[v->in.series], j, offset, step);
    }
    if (e_is_constant(j, &number)) return expr_eval(c, n->in[number], in);
    bool table = rows_by_number(n)
        || (c->stacks.group && c->stacks.wanted[v - c->r->value] == c->stacks.group);
    return table ? eval_row(c, n, j, in) : eval_chosen(c, n, j, in);
}

/* Lanes along the pieces take them one by one. */
static V eval_stack(RowCode *c, const Node *n, At at) {
    Emit *e = c->e;
    At in = in_piece(n, at);
    const RowCursor before = c->now;
    int lanes = before.lanes;
    if (at.lane || lanes == 1 || c->now.mode == MODE_TOKENS) return eval_piece(c, n, at.idx[0], in);
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)lanes));
    c->now.lanes = 1;
    for (int i = 0; i < lanes; i++)
        x = e_set_lane(e, x, eval_piece(c, n, e_iadd(e, at.idx[0], e_i64(e, i)), in), i);
    c->now = before;
    return x;
}

static V eval_number(RowCode *c, const RowSeries *s, V position) {
    V size = e_i64(c->e, shape_count(&s->stack->in[0]->shape));
    V piece = LLVMBuildUDiv(c->e->b, position, size, ""),
      offset = LLVMBuildURem(c->e->b, position, size, "");
    return memory_piece(c, s, piece, offset, 1);
}

/* A series seen in another shape; where its pieces stay apart, their elements lie side by side. */
static V eval_reshaped(RowCode *c, const Shape *shape, const RowSeries *s, At at) {
    Emit *e = c->e;
    int64_t step;
    if (shape->dim[0] == s->stack->nin && (at.lane || c->now.mode == MODE_TOKENS)) {
        Shape rest = *shape;
        At in = { .lane = at.lane > 0 ? at.lane - 1 : -1 };
        rest.rank--;
        for (int i = 0; i < rest.rank; i++)
            rest.dim[i] = shape->dim[i + 1], in.idx[i] = at.idx[i + 1];
        V offset = index_position(c, &rest, in, &step);
        return memory_piece(c, s, at.idx[0], offset, step);
    }
    V position = index_position(c, shape, at, &step);
    const RowCursor before = c->now;
    int lanes = before.lanes;
    if (lanes == 1 || !step || c->now.mode == MODE_TOKENS) return eval_number(c, s, position);
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)lanes));
    c->now.lanes = 1;
    for (int i = 0; i < lanes; i++)
        x = e_set_lane(e, x, eval_number(c, s, e_iadd(e, position, e_i64(e, i * step))), i);
    c->now = before;
    return x;
}

static V slice_first(RowCode *c, const RowValue *v) {
    int64_t first = v->n->attr->first;
    if (v->in.first >= 0) return e_number(c->e, memory_base(c, v->in.first));
    return rows_begins(c->r, first) ? index_first(c, first)
                                    : code_number(c, v, NUMBER_FIRST, first);
}

static V eval_view(RowCode *c, const Node *n, At at) {
    At in = at;
    int64_t step;
    if (n->op == OP_reshape) {
        const Node *x = n->in[0];
        if (rows_same_elements(&n->shape, &x->shape))
            return expr_eval(c, x, index_retrace(c, &n->shape, &x->shape, at));
        x = plan_storage(n);
        if (x->op == OP_fill) return e_f32(c->e, x->attr->value);
        const RowValue *v = rows_value(c->r, x);
        if (v->in.series >= 0) return eval_reshaped(c, &n->shape, &c->r->series[v->in.series], at);
        V offset = index_position(c, &n->shape, at, &step);
        return memory_read(c, v, offset, step);
    }
    if (n->op == OP_after) return expr_eval(c, n->in[0], at);
    if (n->op == OP_slice) {
        const RowValue *v = rows_value(c->r, n);
        in.idx[n->attr->axis] = e_iadd(c->e, at.idx[n->attr->axis], slice_first(c, v));
        return expr_eval(c, n->in[0], in);
    }
    if (n->op == OP_transpose) {
        in.lane = -1;
        for (int i = 0; i < n->shape.rank; i++) {
            in.idx[n->attr->perm[i]] = at.idx[i];
            if (at.lane == i) in.lane = n->attr->perm[i];
        }
        return expr_eval(c, n->in[0], in);
    }
    return eval_stack(c, n, at);
}

static V compute(RowCode *c, const Node *n, At at) {
    switch (op_info[n->op].class) {
    case POINTWISE: return eval_pointwise(c, n, at);
    case VIEW: return eval_view(c, n, at);
    case REDUCE: return eval_reduce(c, n, at);
    default: bug(n, "cannot be part of a row kernel");
    }
}

V expr_eval(RowCode *c, const Node *n, At at) {
    if (n->op == OP_fill) return e_f32(c->e, n->attr->value);
    V known = recall(c, n, &at);
    if (known) return known;
    const RowValue *v = rows_value(c->r, n);
    if (v->here && (!v->stored || n == c->now.current)) {
        LLVMMetadataRef before = lines_set(c->e->lines, n->loc);
        V x = compute(c, n, at);
        lines_back(c->e->lines, before);
        return n == c->now.current ? x : expr_remember(c, n, &at, x);
    }
    if (v->in.series >= 0) return expr_remember(c, n, &at, eval_stack(c, n, at));
    int64_t step;
    V offset = index_position(c, &n->shape, at, &step);
    return expr_remember(c, n, &at, memory_read(c, v, offset, step));
}
