/* SPDX-License-Identifier: MIT
** Tables of pointers to the rows of a stack, filled for each token, so that a loop finds the
** pieces by number.
*/
#include "rows_code.h"
#include "fatal.h"

enum {
    WRITTEN = 8, /* pieces whose pointers are found one by one; of more in a loop */
    LONG = 4     /* registers in a row that is so long that finding it costs nothing beside it */
};

/* == Stacks of a group ==================================================== */

typedef void FoundStack(RowCode *c, const Node *stack, void *user);

/* Calls 'found' for the stacks that are read where they lie for an element of n. */
static void each_stack(RowCode *c, const Node *n, FoundStack *found, void *user) {
    const RowValue *v = rows_value(c->r, n);
    if (!expr_reads_stack(c, n) || v->stored) return;
    if (rows_by_pointer(n)) found(c, n, user);
    for (int i = 0; !rows_by_number(n) && i < node_reads(n); i++)
        each_stack(c, n->in[i], found, user);
}

/* And for those that the group's statements read. */
static void group_stacks(RowCode *c, const StatementGroup *g, FoundStack *found, void *user) {
    for (int i = g->first; i >= 0; i = c->r->statement[i].next) {
        const Statement *s = &c->r->statement[i];
        if (s->piece) each_stack(c, s->piece, found, user);
        for (int k = 0; !s->piece && k < node_reads(s->node); k++)
            each_stack(c, s->node->in[k], found, user);
    }
}

typedef struct AsMany {
    int64_t count;
    bool any;
} AsMany;

static void test_count(RowCode *c, const Node *stack, void *user) {
    AsMany *as_many = user;
    (void)c;
    as_many->any |= stack->nin == as_many->count;
}

bool tables_walk(RowCode *c, const StatementGroup *g, int64_t count) {
    AsMany as_many = { .count = count };
    group_stacks(c, g, test_count, &as_many);
    return as_many.any;
}

/* == Tables =============================================================== */

/* Where a piece of a stack lies: as a row 'in' the scratch or an operand. */
typedef struct PieceRow {
    const Node *piece;
    const RowValue *v;
    int64_t offset;
    int in;
} PieceRow;

static PieceRow find_row(const RowCode *c, const Node *piece) {
    PieceRow p = { .piece = piece };
    const RowValue *v = p.v = rows_piece(c->r, piece, &p.offset);
    if (!v || (v->here && v->lies.scratch < 0 && !v->lies.nout))
        bug(piece, "lies nowhere as a row");
    p.in = !v->here ? v->lies.operand : v->lies.scratch >= 0 ? memory_scratch(c) : v->lies.out[0];
    return p;
}

/* The row at this token, tested. */
static V piece_row(RowCode *c, PieceRow p) {
    Emit *e = c->e;
    int64_t step = 0, floats = shape_count(&p.piece->shape);
    V offset = code_number(c, p.piece, NUMBER_FIRST, p.offset);
    if (p.in == memory_scratch(c)) {
        V row = memory_scratch_address(c, p.v, offset, &step);
        memory_test(c, p.in, row, floats, false);
        return row;
    }
    V number = code_number(c, p.v, NUMBER_OPERAND, p.in);
    V at = e_iadd(e, e_imul(e, c->now.t, memory_stride(c, p.in)), offset);
    V row = e_at(e, e_pointer_at(e, c->table, number), at);
    fence_test_piece(e, &c->fence, number, row, floats);
    return row;
}

/* What its code depends on (rows_repeats.h). */
static void add_row(const RowCode *c, LikeParts *parts, PieceRow p, int number) {
    const RowValue *v = p.v;
    bool scratch = p.in == memory_scratch(c);
    const Operand *o = scratch ? NULL : &c->r->operand[p.in];
    parts_next(parts);
    parts_word(parts, scratch + 2 * v->lies.apart);
    parts_word(parts, v->n->shape.lead);
    parts_word(parts, o ? o->stride : v->lies.scratch_each);
    parts_word(parts, o ? o->ref.stride : v->lies.scratch_square);
    for (int i = 0; v->lies.apart && i < v->n->shape.rank; i++)
        parts_word(parts, v->n->shape.dim[i]);
    parts_number(parts, p.piece, NUMBER_FIRST, p.offset);
    parts_number(parts, p.piece, NUMBER_PIECE, number);
    if (o) parts_number(parts, v, NUMBER_OPERAND, p.in);
    else parts_number(parts, v, NUMBER_SCRATCH, v->lies.scratch);
}

static void test_rows(RowCode *c, const Node *stack, void *rows) {
    int64_t offset;
    bool *all = rows;
    for (int i = 0; i < stack->nin; i++)
        *all &= rows_piece(c->r, stack->in[i], &offset) != NULL;
}

bool tables_wanted(RowCode *c, const StatementGroup *g, int64_t row) {
    bool rows = true;
    if (row < (int64_t)LONG * c->r->lanes) return false;
    group_stacks(c, g, test_rows, &rows);
    return rows;
}

/* 'few': one of few pieces, too. */
static void want_table(RowCode *c, const Node *stack, void *few) {
    if (rows_by_number(stack) || *(bool *)few)
        c->stacks.wanted[rows_value(c->r, stack) - c->r->value] = c->stacks.group;
}

static void fill_row(RowCode *c, int value, int number) {
    Emit *e = c->e;
    PieceRow p = find_row(c, c->r->value[value].n->in[number]);
    V at = code_number(c, p.piece, NUMBER_PIECE, number), row = piece_row(c, p);
    LLVMBuildStore(e->b, row, LLVMBuildGEP2(e->b, e->ptr, c->stacks.row_table[value], &at, 1, ""));
}

/* Of a table's rows, those that lie alike. */
static void fill_run(RowCode *c, int value, const LikeParts *parts, PartsRun run) {
    Repeats repeats = { 0 };
    if (run.count == 1) {
        fill_row(c, value, run.first);
        return;
    }
    repeats_open(c->e, &repeats, parts, run);
    c->repeats = &repeats;
    for (; repeats.part < run.period; repeats.part++)
        fill_row(c, value, run.first + repeats.part);
    c->repeats = NULL;
    repeats_close(c->e, &repeats);
}

static void fill_table(RowCode *c, int value) {
    const Node *stack = c->r->value[value].n;
    LikeParts parts = { 0 };
    for (int k = 0; stack->nin > WRITTEN && k < stack->nin; k++)
        add_row(c, &parts, find_row(c, stack->in[k]), k);
    for (int k = 0; k < stack->nin;) {
        PartsRun run = parts_run(&parts, k);
        fill_run(c, value, &parts, run);
        k += run.period * run.count;
    }
    parts_free(&parts);
}

void tables_fill(RowCode *c, const StatementGroup *g, bool few) {
    Emit *e = c->e;
    c->stacks.group = 1 + (int)(g - c->r->group);
    c->stacks.few = few;
    group_stacks(c, g, want_table, &few);
    for (int i = 0; i < c->r->nvalue; i++) {
        unsigned rows = (unsigned)c->r->value[i].n->nin;
        if (c->stacks.wanted[i] != c->stacks.group) continue;
        if (!c->stacks.row_table[i])
            c->stacks.row_table[i] = e_var(e, LLVMGetUndef(LLVMArrayType(e->ptr, rows)));
        fill_table(c, i);
    }
}
