/*
** Code of a row kernel: the loops of each group, and the expressions in them.
**
** An expression is evaluated at an index of its own axes (At).  In CHANNELS
** and UNIFORM mode lanes run along the last axis; in TOKENS mode every value
** has a lane a token.  What was evaluated at the same index in the same loop
** body is not evaluated again (the memo), so that a value read by many
** statements is loaded once.
*/
#include "lines.h"
#include "rows.h"
#include "rows_check.h"

#include <stdlib.h>
#include <string.h>

enum { UNROLL = 16, FEW = 8, WIDE = 2 };

typedef struct At {
    V idx[MAXRANK];
    int lane; /* axis along which lanes run; -1: none */
} At;

typedef struct Memo {
    const Node *n;
    At at;
    int lanes;
    V value;
} Memo;

typedef struct Code {
    Emit *e;
    const Rows *r;
    V *p; /* operands' base pointers */
    V scratch, first, end;
    V t0, rows; /* tile: first token, tokens in it */
    V t, row;   /* CHANNELS: token, its place in the tile */
    Mode mode;
    int lanes;           /* of the loop being emitted; 1: scalars */
    const Node *current; /* the statement's node: computed, not loaded */
    Memo *memo;
    int nmemo, memos;
    V *table;    /* by value: pointers to a long stack's rows */
    Fence fence; /* --check builds: tests of what is accessed */
} Code;

static V eval(Code *c, const Node *n, At at);

/* == Indices ============================================================== */

static int last_axis(const Shape *s) {
    for (int i = s->rank - 1; i >= 0; i--)
        if (s->dim[i] != 1) return i;
    return -1;
}

/* The index of the operand's element that broadcasts to 'at'. */
static At project(Code *c, const Shape *from, const Shape *to, At at) {
    At out = { .lane = -1 };
    int shift = from->rank - to->rank;
    for (int i = 0; i < to->rank; i++) {
        bool fixed = to->dim[i] == 1;
        out.idx[i] = fixed ? e_i64(c->e, 0) : at.idx[i + shift];
        if (!fixed && at.lane == i + shift) out.lane = i;
    }
    return out;
}

/* Between shapes that differ by axes of length 1. */
static At retrace(Code *c, const Shape *from, const Shape *to, At at) {
    At out = { .lane = -1 };
    int k = 0;
    for (int i = 0; i < to->rank; i++) {
        out.idx[i] = e_i64(c->e, 0);
        if (to->dim[i] == 1) continue;
        while (from->dim[k] == 1)
            k++;
        out.idx[i] = at.idx[k];
        if (at.lane == k) out.lane = i;
        k++;
    }
    return out;
}

/* Row-major position; *step is the distance between lanes. */
static V position(Code *c, const Shape *s, At at, int64_t *step) {
    V sum = e_i64(c->e, 0);
    int64_t stride = 1;
    *step = 0;
    for (int i = s->rank - 1; i >= 0; i--) {
        if (s->dim[i] != 1) sum = e_iadd(c->e, e_imul(c->e, at.idx[i], e_i64(c->e, stride)), sum);
        if (at.lane == i) *step = stride;
        stride *= s->dim[i];
    }
    return sum;
}

/* == Memory =============================================================== */

/* An access is 'in' an operand, by number, or in the scratch, or tested already. */
enum { TESTED = -1 };

static int in_scratch(const Code *c) { return c->r->noperand; }

static void test(Code *c, int in, V address, int64_t floats, bool store) {
    if (in != TESTED) fence_test(c->e, &c->fence, in, address, floats, store);
}

/* Floats from the first lane to the last. */
static int64_t span(const Code *c, int64_t step) { return 1 + (c->lanes - 1) * step; }

/* Lanes 'step' floats apart. */
static V load_lanes(Code *c, int in, V address, int64_t step) {
    Emit *e = c->e;
    test(c, in, address, span(c, step), false);
    if (step == 0 || c->lanes == 1) return e_load(e, address, 1);
    if (step == 1) return e_load(e, address, c->lanes);
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)c->lanes));
    for (int i = 0; i < c->lanes; i++)
        x = e_set_lane(e, x, e_load(e, e_at(e, address, e_i64(e, i * step)), 1), i);
    return x;
}

static void store_lanes(Code *c, int in, V address, int64_t step, V x) {
    Emit *e = c->e;
    test(c, in, address, span(c, step), true);
    if (c->lanes == 1 || step == 0) {
        e_store(e, address, e_lane(e, x, 0));
    } else if (step == 1) {
        e_store(e, address, e_splat(e, x, c->lanes));
    } else {
        x = e_splat(e, x, c->lanes);
        for (int i = 0; i < c->lanes; i++)
            e_store(e, e_at(e, address, e_i64(e, i * step)), e_lane(e, x, i));
    }
}

/* One lane a token: token rows 'stride' apart, none beyond the last. */
static V load_tokens(Code *c, int operand, V offset, int64_t stride) {
    Emit *e = c->e;
    V row = e_at(e, c->p[operand], e_iadd(e, e_imul(e, c->t0, e_i64(e, stride)), offset));
    V last = e_isub(e, c->rows, e_i64(e, 1));
    test(c, operand, row, 1, false); /* the others are between */
    test(c, operand, e_at(e, row, e_imul(e, last, e_i64(e, stride))), 1, false);
    return e_collect(e, row, stride, last);
}

/* To the tests of accesses two bfloat16s are a float: the first and the last that one touches. */
static void test_half(Code *c, int in, V row, V offset, int64_t halves, bool store) {
    Emit *e = c->e;
    if (!e->check) return;
    V one = e_i64(e, 1), last = e_iadd(e, offset, e_i64(e, halves - 1));
    test(c, in, e_at(e, row, LLVMBuildAShr(e->b, offset, one, "")), 1, store);
    test(c, in, e_at(e, row, LLVMBuildAShr(e->b, last, one, "")), 1, store);
}

static V load_half(Code *c, int operand, V row, V offset, int lanes) {
    test_half(c, operand, row, offset, lanes, false);
    return e_load_half(c->e, e_at_half(c->e, row, offset), lanes);
}

/* bfloat16s: lanes 'step' apart, or one a token. */
static V load_halves(Code *c, int operand, V offset, int64_t step) {
    Emit *e = c->e;
    V stride = e_i64(e, c->r->operand[operand].ref.stride), base = c->p[operand];
    bool tokens = c->mode == MODE_TOKENS;
    V row = tokens ? NULL : e_at(e, base, e_imul(e, c->t, stride));
    if (!tokens && (step <= 1 || c->lanes == 1))
        return load_half(c, operand, row, offset, step == 1 ? c->lanes : 1);
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)c->lanes)),
      last = e_isub(e, c->rows, e_i64(e, 1));
    for (int i = 0; i < c->lanes; i++) {
        V at = offset;
        if (tokens)
            row = e_at(e, base, e_imul(e, e_iadd(e, c->t0, e_imin(e, e_i64(e, i), last)), stride));
        else at = e_iadd(e, offset, e_i64(e, i * step));
        x = e_set_lane(e, x, load_half(c, operand, row, at, 1), i);
    }
    return x;
}

static V load_operand(Code *c, int operand, const Node *n, V offset, int64_t step) {
    Emit *e = c->e;
    int64_t stride = c->r->operand[operand].ref.stride;
    V base = c->p[operand];
    if (plan_half(n)) return load_halves(c, operand, offset, step);
    if (n->shape.lead == LEAD_NONE) return load_lanes(c, operand, e_at(e, base, offset), step);
    if (c->mode == MODE_TOKENS) return load_tokens(c, operand, offset, stride);
    return load_lanes(c, operand,
                      e_at(e, base, e_iadd(e, e_imul(e, c->t, e_i64(e, stride)), offset)), step);
}

/* A row of the table at the position of token t; the positions are the next operand. */
static V wave_address(Code *c, int operand, V t, V offset) {
    Emit *e = c->e;
    V position = e_at(e, c->p[operand + 1], t);
    test(c, operand + 1, position, 1, false);
    V row = e_imul(e, e_load_i32(e, position), e_i64(e, c->r->operand[operand].ref.stride));
    return e_at(e, c->p[operand], e_iadd(e, row, offset));
}

static V load_wave(Code *c, int operand, V offset, int64_t step) {
    Emit *e = c->e;
    if (c->mode != MODE_TOKENS)
        return load_lanes(c, operand, wave_address(c, operand, c->t, offset), step);
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)c->lanes));
    V last = e_isub(e, c->end, e_i64(e, 1));
    for (int i = 0; i < c->lanes; i++) {
        V at = wave_address(c, operand, e_imin(e, e_iadd(e, c->t0, e_i64(e, i)), last), offset);
        test(c, operand, at, 1, false);
        x = e_set_lane(e, x, e_load(e, at, 1), i);
    }
    return x;
}

/* Where element 'offset' of a value in scratch lies.  Small values have a
** tile's tokens side by side; large ones are a row a token. */
static V scratch_address(Code *c, const Value *v, V offset, int64_t *step) {
    Emit *e = c->e;
    V base = e_at(e, c->scratch, e_i64(e, v->scratch));
    if (v->n->shape.lead == LEAD_NONE) return e_at(e, base, offset);
    V lanes = e_i64(e, c->r->lanes);
    if (rows_small(v->n)) {
        *step *= c->r->lanes;
        V at = e_imul(e, offset, lanes);
        if (c->mode == MODE_TOKENS) return *step = 1, e_at(e, base, at);
        return e_at(e, base, e_iadd(e, at, c->row));
    }
    int64_t count = shape_count(&v->n->shape);
    if (c->mode == MODE_TOKENS) return *step = count, e_at(e, base, offset);
    return e_at(e, base, e_iadd(e, e_imul(e, c->row, e_i64(e, count)), offset));
}

static V load_value(Code *c, const Value *v, V offset, int64_t step) {
    if (!v->here) {
        if (op_info[v->n->op].class == WAVE) return load_wave(c, v->operand, offset, step);
        return load_operand(c, v->operand, v->n, offset, step);
    }
    if (v->scratch >= 0) {
        V at = scratch_address(c, v, offset, &step);
        return load_lanes(c, in_scratch(c), at, step);
    }
    if (!v->nout) bug(v->n, "is read but kept nowhere");
    return load_operand(c, v->out[0], v->n, offset, step);
}

/* == Memo ================================================================= */

static bool same_at(const At *a, const At *b, int rank) {
    if (a->lane != b->lane) return false;
    for (int i = 0; i < rank; i++)
        if (a->idx[i] != b->idx[i]) return false;
    return true;
}

static V recall(const Code *c, const Node *n, const At *at) {
    for (int i = c->nmemo; i-- > 0;)
        if (c->memo[i].n == n && c->memo[i].lanes == c->lanes
            && same_at(&c->memo[i].at, at, n->shape.rank))
            return c->memo[i].value;
    return NULL;
}

static V remember(Code *c, const Node *n, const At *at, V value) {
    if (c->nmemo == c->memos) {
        c->memos = c->memos ? 2 * c->memos : 256;
        c->memo = realloc(c->memo, (size_t)c->memos * sizeof *c->memo);
        if (!c->memo) bug(n, "out of memory");
    }
    c->memo[c->nmemo++] = (Memo){ n, *at, c->lanes, value };
    return value;
}

/* == Expressions ========================================================== */

static bool inlined(const Code *c, const Node *n, Op op) {
    const Value *v = rows_value(c->r, n);
    return n->op == op && v->here && !v->stored;
}

static V operand(Code *c, const Node *n, int i, At at) {
    return eval(c, n->in[i], project(c, &n->shape, &n->in[i]->shape, at));
}

/* a * b + x, where one side of an addition is a product of its own. */
static V eval_sum(Code *c, const Node *n, At at) {
    for (int i = 0; i < 2; i++) {
        const Node *m = n->in[i];
        At inner = project(c, &n->shape, &m->shape, at);
        if (!inlined(c, m, OP_mul) || recall(c, m, &inner)) continue;
        V a = operand(c, m, 0, inner), b = operand(c, m, 1, inner), x = operand(c, n, 1 - i, at);
        if (n->op == OP_sub && i == 0) x = e_neg(c->e, x);
        if (n->op == OP_sub && i == 1) a = e_neg(c->e, a);
        return e_fma(c->e, a, b, x);
    }
    V a = operand(c, n, 0, at), b = operand(c, n, 1, at);
    return n->op == OP_add ? e_add(c->e, a, b) : e_sub(c->e, a, b);
}

static V eval_pointwise(Code *c, const Node *n, At at) {
    Emit *e = c->e;
    if (n->op == OP_add || n->op == OP_sub) return eval_sum(c, n, at);
    V x = operand(c, n, 0, at), a = x, b = n->nin > 1 ? operand(c, n, 1, at) : NULL;
    if (n->nin == 3) {
        V choice = x, yes = b, no = operand(c, n, 2, at);
        return e_select(e, choice, yes, no);
    }
    switch (n->op) {
#define OP1(name, f64, dx, llvm, help) \
    case OP_##name: return llvm;
#define OP2(name, f64, da, db, llvm, help) \
    case OP_##name: return llvm;
#define OP3(name, ...)
#define OP(name, ...)
#include "ops.def"
    default: bug(n, "is not pointwise");
    }
    (void)b, (void)a;
}

/* Product and sum in one for what a reduction adds up. */
static V accumulate(Code *c, V sum, const Node *x, At at) {
    if (inlined(c, x, OP_mul) && !recall(c, x, &at)) {
        V a = operand(c, x, 0, at), b = operand(c, x, 1, at);
        return e_fma(c->e, a, b, sum);
    }
    return e_add(c->e, sum, eval(c, x, at));
}

static V start_value(Code *c, const Node *n) {
    return n->op == OP_sum ? e_f32(c->e, 0) : e_f32(c->e, -__builtin_inf());
}

static V combine(Code *c, const Node *n, V sum, const Node *x, At at) {
    return n->op == OP_sum ? accumulate(c, sum, x, at) : e_max(c->e, eval(c, x, at), sum);
}

static bool reads_stack(const Code *c, const Node *n) {
    const Value *v = rows_value(c->r, n);
    if (!v || !v->here || (v->stored && n->op != OP_stack)) return false;
    if (rows_by_pointer(n)) return true;
    for (int i = 0; i < node_reads(n); i++)
        if (reads_stack(c, n->in[i])) return true;
    return false;
}

static At widen(const Node *n, At at, V j) {
    int axis = n->attr.axis;
    At in = { .lane = at.lane < 0 ? -1 : at.lane + (at.lane >= axis) };
    for (int i = 0, k = 0; i < n->in[0]->shape.rank; i++)
        in.idx[i] = i == axis ? j : at.idx[k++];
    return in;
}

/* A reduction inside its user's loops: over an axis that is not the lanes'. */
static V eval_reduce(Code *c, const Node *n, At at) {
    Emit *e = c->e;
    const Node *x = n->in[0];
    int64_t count = x->shape.dim[n->attr.axis];
    V sum = start_value(c, n);
    if (count <= 4 || (count <= UNROLL && (reads_stack(c, x) || c->mode == MODE_TOKENS))) {
        for (int64_t j = 0; j < count; j++)
            sum = combine(c, n, sum, x, widen(n, at, e_i64(e, j)));
        return sum;
    }
    V var = e_var(e, e_splat(e, sum, c->lanes));
    e_set(e, var, e_splat(e, sum, c->lanes));
    Loop l = e_loop(e, e_i64(e, 0), e_i64(e, count), 1);
    int mark = c->nmemo;
    e_set(e, var, combine(c, n, e_get(e, var), x, widen(n, at, l.i)));
    c->nmemo = mark;
    e_end(e, l);
    return e_get(e, var);
}

static V row_pointer(Code *c, const Node *piece) {
    const Node *n = plan_storage(piece);
    const Value *v = rows_value(c->r, n);
    int64_t step = 0;
    if (v->here && v->scratch >= 0) return scratch_address(c, v, e_i64(c->e, 0), &step);
    int op = v->here ? v->out[0] : v->operand;
    return e_at(c->e, c->p[op], e_imul(c->e, c->t, e_i64(c->e, c->r->operand[op].ref.stride)));
}

static V eval_stack(Code *c, const Node *n, At at) {
    Emit *e = c->e;
    int64_t j;
    At in = { .lane = at.lane - 1 };
    for (int i = 1; i < n->shape.rank; i++)
        in.idx[i - 1] = at.idx[i];
    if (at.lane <= 0) in.lane = -1;
    if (e_is_constant(at.idx[0], &j)) return eval(c, n->in[j], in);
    int id = (int)(rows_value(c->r, n) - c->r->value);
    if (c->mode != MODE_CHANNELS || !c->table[id]) bug(n, "has no table of rows");
    V at_row = LLVMBuildGEP2(e->b, e->ptr, c->table[id], &at.idx[0], 1, "");
    V row = LLVMBuildLoad2(e->b, e->ptr, at_row, "");
    int64_t step;
    V address = e_at(e, row, position(c, &n->in[0]->shape, in, &step));
    fence_test_row(e, &c->fence, row, shape_count(&n->in[0]->shape), address, span(c, step));
    return load_lanes(c, TESTED, address, step);
}

static V eval_view(Code *c, const Node *n, At at) {
    At in = at;
    int64_t step;
    if (n->op == OP_reshape) {
        const Node *x = n->in[0];
        if (rows_same_elements(&n->shape, &x->shape))
            return eval(c, x, retrace(c, &n->shape, &x->shape, at));
        x = plan_storage(n);
        if (x->op == OP_fill) return e_f32(c->e, x->attr.value);
        V offset = position(c, &n->shape, at, &step);
        return load_value(c, rows_value(c->r, x), offset, step);
    }
    if (n->op == OP_after) return eval(c, n->in[0], at);
    if (n->op == OP_slice) {
        in.idx[n->attr.axis] = e_iadd(c->e, at.idx[n->attr.axis], e_i64(c->e, n->attr.first));
        return eval(c, n->in[0], in);
    }
    if (n->op == OP_transpose) {
        in.lane = -1;
        for (int i = 0; i < n->shape.rank; i++) {
            in.idx[n->attr.perm[i]] = at.idx[i];
            if (at.lane == i) in.lane = n->attr.perm[i];
        }
        return eval(c, n->in[0], in);
    }
    return eval_stack(c, n, at);
}

static V compute(Code *c, const Node *n, At at) {
    switch (op_info[n->op].class) {
    case POINTWISE: return eval_pointwise(c, n, at);
    case VIEW: return eval_view(c, n, at);
    case REDUCE: return eval_reduce(c, n, at);
    default: bug(n, "cannot be part of a row kernel");
    }
}

static V eval(Code *c, const Node *n, At at) {
    if (n->op == OP_fill) return e_f32(c->e, n->attr.value);
    V known = recall(c, n, &at);
    if (known) return known;
    const Value *v = rows_value(c->r, n);
    if (v->here && (!v->stored || n == c->current)) {
        LLVMMetadataRef before = lines_set(c->e->lines, n->loc);
        V x = compute(c, n, at);
        lines_back(c->e->lines, before);
        return n == c->current ? x : remember(c, n, &at, x);
    }
    int64_t step;
    V offset = position(c, &n->shape, at, &step);
    return remember(c, n, &at, load_value(c, v, offset, step));
}

/* == Statements =========================================================== */

/* bfloat16s: what is stored is rounded already, the upper half says it all. */
static void write_half(Code *c, int op, V row, V offset, int64_t step, V x) {
    Emit *e = c->e;
    int lanes = step == 0 ? 1 : c->lanes;
    test_half(c, op, row, offset, lanes == 1 ? 1 : span(c, step), true);
    x = lanes == 1 ? e_lane(e, x, 0) : e_splat(e, x, lanes);
    if (step == 1 || lanes == 1) {
        e_store_half(e, e_at_half(e, row, offset), x);
        return;
    }
    for (int i = 0; i < lanes; i++)
        e_store_half(e, e_at_half(e, row, e_iadd(e, offset, e_i64(e, i * step))), e_lane(e, x, i));
}

static void write_out(Code *c, int op, const Node *n, V offset, int64_t step, V x) {
    Emit *e = c->e;
    const Operand *o = &c->r->operand[op];
    if (plan_half(n)) {
        write_half(c, op, e_at(e, c->p[op], e_imul(e, c->t, e_i64(e, o->ref.stride))), offset, step,
                   x);
        return;
    }
    V at = offset;
    if (n->shape.lead == LEAD_TOKENS)
        at = e_iadd(e, e_imul(e, c->t, e_i64(e, o->ref.stride)), offset);
    V address = e_at(e, c->p[op], at);
    if (o->add) x = e_add(e, load_lanes(c, op, address, step), x);
    store_lanes(c, op, address, step, x);
}

/* Element 'at' of value v is x: to scratch and to its results. */
static void write_value(Code *c, const Value *v, At at, V x) {
    int64_t step;
    V offset = position(c, &v->n->shape, at, &step);
    if (v->here && v->scratch >= 0) {
        int64_t own = step;
        V address = scratch_address(c, v, offset, &own);
        if (c->mode == MODE_TOKENS && !rows_small(v->n)) {
            x = e_splat(c->e, x, c->lanes);
            test(c, in_scratch(c), address, span(c, own), true);
            e_spread(c->e, address, own, x);
        } else store_lanes(c, in_scratch(c), address, own, x);
    }
    bool flushed = v->here && rows_small(v->n) && v->n->shape.lead == LEAD_TOKENS;
    for (int i = 0; !flushed && i < v->nout; i++)
        write_out(c, v->out[i], v->n, offset, step, x);
}

static int partial_operand(const Code *c, const Node *sum) {
    for (int i = 0; i < c->r->noperand; i++)
        if (c->r->operand[i].node == sum && c->r->operand[i].ref.area == AREA_GRANULE) return i;
    bug(sum, "has no partial sums");
}

static void add_partial_sum(Code *c, const Node *sum, At at) {
    Emit *e = c->e;
    int op = partial_operand(c, sum);
    int64_t step;
    V x = eval(c, sum->in[0], at);
    V offset = position(c, &sum->in[0]->shape, at, &step);
    V row = e_imul(
        e, e_idiv(e, e_isub(e, c->t0, LLVMBuildSRem(e->b, c->t0, e_i64(e, GRANULE), "")), GRANULE),
        e_i64(e, c->r->operand[op].ref.stride));
    V address = e_at(e, c->p[op], e_iadd(e, row, offset));
    if (c->mode == MODE_TOKENS) {
        x = e_sum_lanes(e, e_keep_lanes(e, e_splat(e, x, c->lanes), c->rows, e_f32(e, 0)));
        test(c, op, address, 1, true);
        e_store(e, address, e_add(e, e_load(e, address, 1), x));
    } else store_lanes(c, op, address, step, e_add(e, load_lanes(c, op, address, step), x));
}

/* The piece's element goes to its place in the whole. */
static At place_piece(Code *c, const Statement *s, At at) {
    At to = { .lane = at.lane };
    if (s->node->op == OP_stack) {
        to.idx[0] = e_i64(c->e, s->first);
        for (int i = 0; i < s->piece->shape.rank; i++)
            to.idx[i + 1] = at.idx[i];
        to.lane = at.lane < 0 ? -1 : at.lane + 1;
        return to;
    }
    for (int i = 0; i < s->piece->shape.rank; i++)
        to.idx[i] = i == s->axis ? e_iadd(c->e, at.idx[i], e_i64(c->e, s->first)) : at.idx[i];
    return to;
}

static void element(Code *c, const Statement *s, At at) {
    const Value *v = rows_value(c->r, s->node);
    if (s->piece) {
        write_value(c, v, place_piece(c, s, at), eval(c, s->piece, at));
        return;
    }
    c->current = s->node;
    V x = eval(c, s->node, at);
    c->current = NULL;
    remember(c, s->node, &at, x);
    write_value(c, v, at, x);
}

/* == Loops of a group ===================================================== */

typedef struct Nest {
    const Group *g;
    V idx[MAXRANK]; /* of the axes longer than 1 */
    int64_t dim[MAXRANK];
    int rank;
    V *sum; /* by statement of the group: accumulator variables */
} Nest;

/* The nest's indices as an index of shape s. */
static At nest_at(Code *c, const Nest *n, const Shape *s, bool lanes) {
    At at = { .lane = lanes ? last_axis(s) : -1 };
    int k = 0;
    for (int i = 0; i < s->rank; i++)
        at.idx[i] = s->dim[i] == 1 ? e_i64(c->e, 0) : n->idx[k++];
    return at;
}

static const Shape *loops_of(const Statement *s) {
    return s->kind == REDUCE_LAST ? &s->node->in[0]->shape
        : s->kind == PARTIAL      ? &s->node->in[0]->shape
        : s->piece                ? &s->piece->shape
                                  : &s->node->shape;
}

static void body(Code *c, Nest *n, bool lanes) {
    int mark = c->nmemo, k = 0;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next, k++) {
        const Statement *s = &c->r->statement[i];
        At at = nest_at(c, n, loops_of(s), lanes);
        if (s->kind == ELEMENT) element(c, s, at);
        if (s->kind == PARTIAL) add_partial_sum(c, s->node, at);
        if (s->kind == REDUCE_LAST)
            e_set(c->e, n->sum[k], combine(c, s->node, e_get(c->e, n->sum[k]), s->node->in[0], at));
    }
    c->nmemo = mark;
}

static void start_sums(Code *c, Nest *n) {
    int k = 0;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next, k++) {
        const Statement *s = &c->r->statement[i];
        if (s->kind != REDUCE_LAST) continue;
        V zero = e_splat(c->e, start_value(c, s->node), c->lanes);
        n->sum[k] = e_var(c->e, zero);
        e_set(c->e, n->sum[k], zero);
    }
}

/* Adds the lanes' sums, in a fixed order, to what earlier loops left. */
static void finish_sums(Code *c, Nest *n, V *total) {
    int k = 0;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next, k++) {
        const Statement *s = &c->r->statement[i];
        if (s->kind != REDUCE_LAST) continue;
        bool sum = s->node->op == OP_sum;
        V x = e_get(c->e, n->sum[k]);
        x = c->lanes == 1 ? x : sum ? e_sum_lanes(c->e, x) : e_max_lanes(c->e, x);
        total[k] = !total[k] ? x : sum ? e_add(c->e, total[k], x) : e_max(c->e, total[k], x);
    }
}

static void write_sums(Code *c, Nest *n, V *total) {
    int k = 0, lanes = c->lanes;
    c->lanes = 1;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next, k++) {
        const Statement *s = &c->r->statement[i];
        if (s->kind == REDUCE_LAST)
            write_value(c, rows_value(c->r, s->node), nest_at(c, n, &s->node->shape, false),
                        total[k]);
    }
    c->lanes = lanes;
}

/* The last axis: wide steps, then register steps, then one by one. */
static void lane_loops(Code *c, Nest *n) {
    Emit *e = c->e;
    int64_t length = n->rank ? n->dim[n->rank - 1] : 1, at = 0;
    int width[] = { WIDE * c->r->lanes, c->r->lanes, 1 }, statements = 0;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next)
        statements++;
    V *total = calloc((size_t)statements, sizeof *total);
    n->sum = calloc((size_t)statements, sizeof *n->sum);
    for (int w = 0; w < 3; w++) {
        int64_t to = at + (length - at) / width[w] * width[w];
        if (to == at) continue;
        c->lanes = width[w];
        start_sums(c, n);
        if (!n->rank) {
            body(c, n, false);
        } else if (to - at == width[w]) {
            n->idx[n->rank - 1] = e_i64(e, at);
            body(c, n, true);
        } else {
            Loop l = e_loop(e, e_i64(e, at), e_i64(e, to), width[w]);
            n->idx[n->rank - 1] = l.i;
            body(c, n, true);
            e_end(e, l);
        }
        finish_sums(c, n, total);
        at = to;
    }
    write_sums(c, n, total);
    free(total), free(n->sum);
}

static bool group_reads_stack(const Code *c, const Group *g) {
    for (int i = g->first; i >= 0; i = c->r->statement[i].next) {
        const Statement *s = &c->r->statement[i];
        const Node *n = s->piece ? s->piece : s->node;
        if (s->kind == PARTIAL) n = n->in[0];
        if (s->piece || s->kind == PARTIAL ? reads_stack(c, n) : false) return true;
        for (int k = 0; !s->piece && s->kind != PARTIAL && k < node_reads(n); k++)
            if (reads_stack(c, n->in[k])) return true;
    }
    return false;
}

static void outer_loops(Code *c, Nest *n, int axis) {
    Emit *e = c->e;
    bool scalar = c->mode == MODE_TOKENS;
    if (axis >= n->rank - !scalar) {
        if (scalar) body(c, n, false);
        else lane_loops(c, n);
        return;
    }
    int64_t count = n->dim[axis], rest = 1;
    for (int i = axis; i < n->rank; i++)
        rest *= n->dim[i];
    if (scalar ? rest <= FEW : count <= UNROLL && group_reads_stack(c, n->g)) {
        for (int64_t j = 0; j < count; j++) {
            n->idx[axis] = e_i64(e, j);
            outer_loops(c, n, axis + 1);
        }
        return;
    }
    Loop l = e_loop(e, e_i64(e, 0), e_i64(e, count), 1);
    int mark = c->nmemo;
    n->idx[axis] = l.i;
    outer_loops(c, n, axis + 1);
    c->nmemo = mark;
    e_end(e, l);
}

/* Tables of row pointers for stacks too long to unroll, for this token. */
static void fill_tables(Code *c) {
    Emit *e = c->e;
    for (int i = 0; i < c->r->nvalue; i++) {
        const Value *v = &c->r->value[i];
        if (!v->here || v->stored || !rows_by_pointer(v->n) || v->n->nin <= UNROLL) continue;
        if (!c->table[i])
            c->table[i] = e_var(e, LLVMGetUndef(LLVMArrayType(e->ptr, (unsigned)v->n->nin)));
        for (int k = 0; k < v->n->nin; k++) {
            const Value *s = rows_value(c->r, plan_storage(v->n->in[k]));
            if (s->here && s->scratch < 0 && !s->nout) continue;
            V at = e_i64(e, k), row = row_pointer(c, v->n->in[k]);
            int in = s->here && s->scratch >= 0 ? in_scratch(c) : s->here ? s->out[0] : s->operand;
            test(c, in, row, shape_count(&v->n->in[k]->shape), false);
            LLVMBuildStore(e->b, row, LLVMBuildGEP2(e->b, e->ptr, c->table[i], &at, 1, ""));
        }
    }
}

static void emit_group(Code *c, const Group *g) {
    Emit *e = c->e;
    Nest n = { .g = g };
    for (int i = 0; i < g->base.rank; i++)
        if (g->base.dim[i] != 1) n.dim[n.rank++] = g->base.dim[i];
    c->mode = g->mode;
    c->nmemo = 0;
    if (g->mode == MODE_CHANNELS) {
        Loop l = e_loop(e, e_i64(e, 0), c->rows, 1);
        c->row = l.i;
        c->t = e_iadd(e, c->t0, l.i);
        fill_tables(c);
        outer_loops(c, &n, 0);
        e_end(e, l);
        return;
    }
    c->lanes = c->r->lanes;
    outer_loops(c, &n, 0);
}

/* == The kernel =========================================================== */

/* Small results were kept with a tile's tokens side by side. */
static void flush_small(Code *c) {
    Emit *e = c->e;
    c->mode = MODE_CHANNELS;
    c->lanes = 1;
    for (int i = 0; i < c->r->nvalue; i++) {
        const Value *v = &c->r->value[i];
        if (!v->here || !v->stored || !v->nout || !rows_small(v->n)
            || v->n->shape.lead != LEAD_TOKENS)
            continue;
        Loop rows = e_loop(e, e_i64(e, 0), c->rows, 1);
        c->row = rows.i;
        c->t = e_iadd(e, c->t0, rows.i);
        Loop l = e_loop(e, e_i64(e, 0), e_i64(e, shape_count(&v->n->shape)), 1);
        int64_t step = 0;
        V at = scratch_address(c, v, l.i, &step);
        test(c, in_scratch(c), at, 1, false);
        V x = e_load(e, at, 1);
        for (int k = 0; k < v->nout; k++)
            write_out(c, v->out[k], v->n, l.i, 0, x);
        e_end(e, l);
        e_end(e, rows);
    }
}

/* A granule's sums start at zero with its first token. */
static void clear_partials(Code *c) {
    Emit *e = c->e;
    bool any = false;
    for (int i = 0; i < c->r->noperand; i++)
        any |= c->r->operand[i].ref.area == AREA_GRANULE;
    if (!any) return;
    V place = LLVMBuildSRem(e->b, c->t0, e_i64(e, GRANULE), "");
    LLVMBasicBlockRef after = e_if(e, LLVMBuildICmp(e->b, LLVMIntEQ, place, e_i64(e, 0), ""));
    V granule = e_idiv(e, c->t0, GRANULE);
    for (int i = 0; i < c->r->noperand; i++) {
        const Operand *o = &c->r->operand[i];
        if (o->ref.area != AREA_GRANULE) continue;
        V row = e_at(e, c->p[i], e_imul(e, granule, e_i64(e, o->ref.stride)));
        Loop l = e_loop(e, e_i64(e, 0), e_i64(e, o->ref.stride), 1);
        V at = e_at(e, row, l.i);
        test(c, i, at, 1, true);
        e_store(e, at, e_f32(e, 0));
        e_end(e, l);
    }
    e_endif(e, after);
}

static void emit_tiles(Code *c) {
    Emit *e = c->e;
    int step = c->r->lanes;
    Loop tiles = e_loop(e, c->first, c->end, step);
    c->t0 = tiles.i;
    c->rows = e_imin(e, e_i64(e, step), e_isub(e, c->end, tiles.i));
    clear_partials(c);
    for (int i = 0; i < c->r->ngroup; i++)
        if (c->r->group[i].mode != MODE_UNIFORM) emit_group(c, &c->r->group[i]);
    flush_small(c);
    e_end(e, tiles);
}

static void set_attribute(const Emit *e, V fn, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->ctx, kind, 0));
}

int64_t rows_emit(Emit *e, const Rows *r, const char *name) {
    LLVMTypeRef args[] = { e->ptr, e->i64, e->i64, e->ptr };
    V fn = e_function(e, name, 4, args);
    Loc loc = r->step->n ? r->step->node[0]->loc : (Loc){ 0 };
    lines_function(e->lines, name, loc);
    set_attribute(e, fn, "noinline"); /* profiles name it; a call is nothing beside it */
    if (e->plain) {
        set_attribute(e, fn, "optnone");
        LLVMSetSection(fn, ".text.probe");
    }
    Code c = { .e = e, .r = r };
    c.p = calloc((size_t)r->noperand + 1, sizeof *c.p);
    c.table = calloc((size_t)r->nvalue + 1, sizeof *c.table);
    c.first = LLVMGetParam(fn, 1);
    c.end = e_iadd(e, c.first, LLVMGetParam(fn, 2));
    c.scratch = LLVMGetParam(fn, 3);
    for (int i = 0; i < r->noperand; i++)
        c.p[i] = e_pointer(e, LLVMGetParam(fn, 0), i);
    c.fence = (Fence){ LLVMGetParam(fn, 0), r->noperand, c.scratch, r->scratch };
    for (int i = 0; i < r->ngroup; i++)
        if (r->group[i].mode == MODE_UNIFORM) emit_group(&c, &r->group[i]);
    if (r->step->kind == STEP_ROW) emit_tiles(&c);
    e_return(e);
    lines_none(e->lines);
    free(c.p), free(c.table), free(c.memo);
    return e_size(e);
}
