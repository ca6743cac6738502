/* SPDX-License-Identifier: MIT
** What a row kernel loads and stores: operands, results and scratch.
*/
#include "rows_code.h"

enum {
    HELD = 24,          /* operands whose pointers are loaded once for the whole kernel */
    ASKS = 16,          /* lanes from which on rows of the next tile are asked for */
    LONG_ROW = 128,     /* floats of each row of a matrix that is asked for with any lanes */
    FORESEEN = 4096 / 4 /* floats of rows of which the processor knows what comes next: a page */
};

/* == Accesses ============================================================= */

int memory_scratch(const RowCode *c) { return c->r->noperand; }

void memory_test(RowCode *c, int in, V address, int64_t floats, bool store) {
    if (in != TESTED) fence_test(c->e, &c->fence, in, address, floats, store);
}

/* Floats from the first lane to the last. */
int64_t memory_span(const RowCode *c, int64_t step) { return 1 + (c->now.lanes - 1) * step; }

/* Lanes 'step' floats apart. */
V memory_load(RowCode *c, int in, V address, int64_t step) {
    Emit *e = c->e;
    memory_test(c, in, address, memory_span(c, step), false);
    if (step == 0 || c->now.lanes == 1) return e_load(e, address, 1);
    if (step == 1) return e_load(e, address, c->now.lanes);
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)c->now.lanes));
    for (int i = 0; i < c->now.lanes; i++)
        x = e_set_lane(e, x, e_load(e, e_at(e, address, e_i64(e, i * step)), 1), i);
    return x;
}

void memory_store(RowCode *c, int in, V address, int64_t step, V x) {
    Emit *e = c->e;
    memory_test(c, in, address, memory_span(c, step), true);
    if (c->now.lanes == 1 || step == 0) {
        e_store(e, address, e_lane(e, x, 0));
    } else if (step == 1) {
        e_store(e, address, e_splat(e, x, c->now.lanes));
    } else {
        x = e_splat(e, x, c->now.lanes);
        for (int i = 0; i < c->now.lanes; i++)
            e_store(e, e_at(e, address, e_i64(e, i * step)), e_lane(e, x, i));
    }
}

/* == Pointers of operands ================================================= */

void memory_begin(RowCode *c) {
    if (c->head && c->r->nfixed <= HELD) return;
    for (int i = 0; i < c->r->nfixed; i++)
        c->p[i] = NULL;
    c->head = LLVMGetInsertBlock(c->e->b);
    e_next_block(c->e);
}

V memory_base(RowCode *c, int operand) {
    Emit *e = c->e;
    if (c->p[operand]) return c->p[operand];
    Place here = e_go_to_end(e, c->head);
    c->p[operand] = e_pointer(e, c->table, operand);
    e_go_back(e, here);
    return c->p[operand];
}

V memory_stride(RowCode *c, int operand) {
    const Operand *o = &c->r->operand[operand];
    return o->stride < 0 ? e_i64(c->e, o->ref.stride) : e_number(c->e, memory_base(c, o->stride));
}

/* One lane per token: token rows 'stride' apart, none beyond the last. */
static V load_tokens(RowCode *c, int operand, V offset, V stride) {
    Emit *e = c->e;
    V row = e_at(e, memory_base(c, operand), e_iadd(e, e_imul(e, c->now.t0, stride), offset));
    V last = e_isub(e, c->now.rows, e_i64(e, 1));
    memory_test(c, operand, row, 1, false); /* the others are between */
    memory_test(c, operand, e_at(e, row, e_imul(e, last, stride)), 1, false);
    return e_collect(e, row, stride, last);
}

/* To the tests of accesses two bfloat16s are a float: the first and the last that one touches. */
static void test_bf16(RowCode *c, int in, V row, V offset, int64_t count, bool store) {
    Emit *e = c->e;
    if (!e->check) return;
    V one = e_i64(e, 1), last = e_iadd(e, offset, e_i64(e, count - 1));
    memory_test(c, in, e_at(e, row, LLVMBuildAShr(e->b, offset, one, "")), 1, store);
    memory_test(c, in, e_at(e, row, LLVMBuildAShr(e->b, last, one, "")), 1, store);
}

static V load_bf16_lanes(RowCode *c, int operand, V row, V offset, int lanes) {
    test_bf16(c, operand, row, offset, lanes, false);
    return e_load_bf16(c->e, e_at_bf16(c->e, row, offset), lanes);
}

/* bfloat16s: lanes 'step' apart, or one per token. */
static V load_bf16(RowCode *c, int operand, V offset, int64_t step) {
    Emit *e = c->e;
    V stride = e_i64(e, c->r->operand[operand].ref.stride), base = memory_base(c, operand);
    bool tokens = c->now.mode == MODE_TOKENS;
    V row = tokens ? NULL : e_at(e, base, e_imul(e, c->now.t, stride));
    if (!tokens && (step <= 1 || c->now.lanes == 1))
        return load_bf16_lanes(c, operand, row, offset, step == 1 ? c->now.lanes : 1);
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)c->now.lanes)),
      last = e_isub(e, c->now.rows, e_i64(e, 1));
    for (int i = 0; i < c->now.lanes; i++) {
        V at = offset;
        if (tokens)
            row = e_at(e, base,
                       e_imul(e, e_iadd(e, c->now.t0, e_imin(e, e_i64(e, i), last)), stride));
        else at = e_iadd(e, offset, e_i64(e, i * step));
        x = e_set_lane(e, x, load_bf16_lanes(c, operand, row, at, 1), i);
    }
    return x;
}

/* The operand of a value that lies in another one each time: its number. */
static bool is_another(RowCode *c, const RowValue *v, int operand, V *number) {
    int64_t same;
    *number = code_number(c, v, NUMBER_OPERAND, operand);
    return !e_is_constant(*number, &same);
}

/* With fewer lanes only matrices per token, such as streams, are asked for: a loop passes through
** several of their rows at once, which the processor does not follow; other rows it does. */
static bool asks_for(const RowCode *c, const Operand *o) {
    const Shape *s = o->node ? &o->node->shape : NULL;
    if (o->stride >= 0 || o->ref.stride >= FORESEEN) return false;
    return c->r->lanes >= ASKS || (s && s->rank == 2 && s->dim[0] > 1 && s->dim[1] >= LONG_ROW);
}

/* Asks for the same elements of the row a tile further on, which arrive in the second-level cache
** while this tile is computed: otherwise a loop over a tile's rows waits for memory, its results'
** too.  'floats' is how many the elements take. */
static void ask_for_next_tile(RowCode *c, int operand, V row, int64_t step, int64_t floats) {
    Emit *e = c->e;
    const Operand *o = &c->r->operand[operand];
    bool asks = c->now.mode == MODE_CHANNELS && c->now.lanes >= c->r->lanes && step == 1
        && asks_for(c, o);
    for (int64_t i = 0; asks && i < floats; i += LINE)
        e_prefetch(e, e_at(e, row, e_i64(e, (int64_t)o->ref.stride * c->r->lanes + i)), 2);
}

static V load_operand(RowCode *c, const RowValue *v, int operand, V offset, int64_t step) {
    Emit *e = c->e;
    V number;
    if (plan_bf16(v->n)) return load_bf16(c, operand, offset, step);
    bool another = is_another(c, v, operand, &number), rows = v->n->shape.lead != LEAD_NONE;
    V stride = rows ? memory_stride(c, operand) : NULL;
    if (rows && c->now.mode == MODE_TOKENS) return load_tokens(c, operand, offset, stride);
    V base = another ? e_pointer_at(e, c->table, number) : memory_base(c, operand);
    V address = e_at(e, base, rows ? e_iadd(e, e_imul(e, c->now.t, stride), offset) : offset);
    if (rows) ask_for_next_tile(c, operand, address, step, c->now.lanes);
    if (another) fence_test_piece(e, &c->fence, number, address, memory_span(c, step));
    return memory_load(c, another ? TESTED : operand, address, step);
}

V memory_piece(RowCode *c, const RowSeries *s, V j, V offset, int64_t step) {
    Emit *e = c->e;
    V operand = e_iadd(e, e_i64(e, s->first), j), stride = memory_stride(c, s->first);
    bool tokens = c->now.mode == MODE_TOKENS;
    V at = e_iadd(e, e_imul(e, tokens ? c->now.t0 : c->now.t, stride), offset);
    V address = e_at(e, e_pointer_at(e, c->table, operand), at);
    if (tokens) {
        V last = e_isub(e, c->now.rows, e_i64(e, 1));
        V end = e_at(e, address, e_imul(e, last, stride));
        fence_test_piece(e, &c->fence, operand, address, 1);
        fence_test_piece(e, &c->fence, operand, end, 1);
        return e_collect(e, address, stride, last);
    }
    fence_test_piece(e, &c->fence, operand, address, memory_span(c, step));
    if (step == 1 && c->now.lanes >= c->r->lanes) e_prefetch(e, e_at(e, address, stride), 1);
    return memory_load(c, TESTED, address, step);
}

/* A row of the table at the position of token t; the positions are the next operand. */
static V wave_address(RowCode *c, int operand, V t, V offset) {
    Emit *e = c->e;
    V position = e_at(e, memory_base(c, operand + 1), t);
    memory_test(c, operand + 1, position, 1, false);
    V row = e_imul(e, e_load_i32(e, position), e_i64(e, c->r->operand[operand].ref.stride));
    return e_at(e, memory_base(c, operand), e_iadd(e, row, offset));
}

static V load_wave(RowCode *c, int operand, V offset, int64_t step) {
    Emit *e = c->e;
    if (c->now.mode != MODE_TOKENS)
        return memory_load(c, operand, wave_address(c, operand, c->now.t, offset), step);
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)c->now.lanes));
    V last = e_isub(e, c->end, e_i64(e, 1));
    for (int i = 0; i < c->now.lanes; i++) {
        V at = wave_address(c, operand, e_imin(e, e_iadd(e, c->now.t0, e_i64(e, i)), last), offset);
        memory_test(c, operand, at, 1, false);
        x = e_set_lane(e, x, e_load(e, at, 1), i);
    }
    return x;
}

/* Where element 'offset' of a value in scratch lies.  Small values have a tile's tokens side by
** side; large ones are a row per token, or one row where the loop over tokens that writes it is
** the one that reads it. */
V memory_scratch_address(RowCode *c, const RowValue *v, V offset, int64_t *step) {
    Emit *e = c->e;
    V base = e_at(e, c->scratch, code_number(c, v, NUMBER_SCRATCH, v->lies.scratch));
    if (v->lies.scratch_each || v->lies.scratch_square) {
        V each = e_i64(e, v->lies.scratch_each);
        if (v->lies.scratch_square)
            each = e_iadd(e, each, e_imul(e, e_i64(e, v->lies.scratch_square), c->count));
        base = e_at(e, base, e_imul(e, each, c->count));
    }
    if (v->n->shape.lead == LEAD_NONE) return e_at(e, base, offset);
    V lanes = e_i64(e, c->r->lanes);
    if (rows_small(v->n)) {
        *step *= c->r->lanes;
        V at = e_imul(e, offset, lanes);
        if (c->now.mode == MODE_TOKENS) return *step = 1, e_at(e, base, at);
        return e_at(e, base, e_iadd(e, at, c->now.row));
    }
    if (!v->lies.apart) return e_at(e, base, offset);
    if (c->now.mode == MODE_TOKENS) return *step = APART, e_at(e, base, offset);
    return e_at(e, base, e_iadd(e, e_imul(e, c->now.row, index_count(c, &v->n->shape)), offset));
}

/* What is tested has its very sizes. */
static void test_apart(RowCode *c, V address, const Shape *s, bool store) {
    memory_test(c, memory_scratch(c), address, memory_span(c, shape_count(s)), store);
}

/* A lane per token of a large value in scratch. */
static V load_apart(RowCode *c, V address, const Shape *s) {
    Emit *e = c->e;
    V x = LLVMGetUndef(LLVMVectorType(e->f32, (unsigned)c->now.lanes)), apart = index_count(c, s);
    test_apart(c, address, s, false);
    for (int i = 0; i < c->now.lanes; i++) {
        V at = e_at(e, address, e_imul(e, apart, e_i64(e, i)));
        x = e_set_lane(e, x, e_load(e, at, 1), i);
    }
    return x;
}

V memory_read(RowCode *c, const RowValue *v, V offset, int64_t step) {
    if (!v->here) {
        if (op_info[v->n->op].class == WAVE) return load_wave(c, v->lies.operand, offset, step);
        return load_operand(c, v, v->lies.operand, offset, step);
    }
    if (v->lies.scratch >= 0) {
        V at = memory_scratch_address(c, v, offset, &step);
        if (step == APART) return load_apart(c, at, &v->n->shape);
        return memory_load(c, memory_scratch(c), at, step);
    }
    if (!v->lies.nout) bug(v->n, "is read but kept nowhere");
    return load_operand(c, v, v->lies.out[0], offset, step);
}

/* == Writing ============================================================== */

/* bfloat16s: what is stored is rounded already, the upper half says it all. */
static void write_bf16(RowCode *c, int op, V row, V offset, int64_t step, V x) {
    Emit *e = c->e;
    int lanes = step == 0 ? 1 : c->now.lanes;
    test_bf16(c, op, row, offset, lanes == 1 ? 1 : memory_span(c, step), true);
    x = lanes == 1 ? e_lane(e, x, 0) : e_splat(e, x, lanes);
    if (step == 1 || lanes == 1) {
        e_store_bf16(e, e_at_bf16(e, row, offset), x);
        return;
    }
    for (int i = 0; i < lanes; i++)
        e_store_bf16(e, e_at_bf16(e, row, e_iadd(e, offset, e_i64(e, i * step))), e_lane(e, x, i));
}

void memory_write_out(RowCode *c, int op, const Node *n, V offset, int64_t step, V x) {
    Emit *e = c->e;
    const Operand *o = &c->r->operand[op];
    if (plan_bf16(n)) {
        V row = e_at(e, memory_base(c, op), e_imul(e, c->now.t, e_i64(e, o->ref.stride)));
        ask_for_next_tile(c, op, e_at_bf16(e, row, offset), step, c->now.lanes / 2);
        write_bf16(c, op, row, offset, step, x);
        return;
    }
    V at = offset;
    if (n->shape.lead == LEAD_TOKENS)
        at = e_iadd(e, e_imul(e, c->now.t, memory_stride(c, op)), offset);
    V address = e_at(e, memory_base(c, op), at);
    if (n->shape.lead == LEAD_TOKENS) ask_for_next_tile(c, op, address, step, c->now.lanes);
    if (o->add) x = e_add(e, memory_load(c, op, address, step), x);
    memory_store(c, op, address, step, x);
}

/* Element 'at' of value v is x: to scratch and to its results. */
void memory_write(RowCode *c, const RowValue *v, At at, V x) {
    int64_t step;
    V offset = index_position(c, &v->n->shape, at, &step);
    if (v->here && v->lies.scratch >= 0) {
        int64_t own = step;
        V address = memory_scratch_address(c, v, offset, &own);
        if (own == APART) {
            x = e_splat(c->e, x, c->now.lanes);
            test_apart(c, address, &v->n->shape, true);
            e_spread(c->e, address, index_count(c, &v->n->shape), x);
        } else memory_store(c, memory_scratch(c), address, own, x);
    }
    bool flushed = v->here && rows_small(v->n) && v->n->shape.lead == LEAD_TOKENS;
    for (int i = 0; !flushed && i < v->lies.nout; i++)
        memory_write_out(c, v->lies.out[i], v->n, offset, step, x);
}

V memory_table_row(RowCode *c, int value, V piece) {
    Emit *e = c->e;
    V at = LLVMBuildGEP2(e->b, e->ptr, c->stacks.row_table[value], &piece, 1, "");
    return LLVMBuildLoad2(e->b, e->ptr, at, "");
}
