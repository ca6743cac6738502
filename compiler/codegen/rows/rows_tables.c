/* SPDX-License-Identifier: MIT
** Tables of pointers to the rows of a stack, filled for each token, so that a loop finds the
** pieces by number.
*/
#include "reroll.h"
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

/* The row of a piece at this token, tested. */
static V piece_row(RowCode *c, const Node *piece) {
    Emit *e = c->e;
    int64_t offset, step = 0;
    const RowValue *v = rows_piece(c->r, piece, &offset);
    if (!v || (v->here && v->scratch < 0 && !v->nout)) bug(piece, "lies nowhere as a row");
    int in = v->here ? v->scratch >= 0 ? memory_scratch(c) : v->out[0] : v->operand;
    V row;
    if (in == memory_scratch(c)) row = memory_scratch_address(c, v, e_i64(e, offset), &step);
    else
        row = e_at(e, e_pointer_at(e, c->table, e_i64(e, in)),
                   e_iadd(e, e_imul(e, c->t, memory_stride(c, in)), e_i64(e, offset)));
    memory_test(c, in, row, shape_count(&piece->shape), false);
    return row;
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
        c->wanted[rows_value(c->r, stack) - c->r->value] = c->group;
}

void tables_fill(RowCode *c, const StatementGroup *g, bool few) {
    Emit *e = c->e;
    c->group = 1 + (int)(g - c->r->group);
    c->tables = few;
    group_stacks(c, g, want_table, &few);
    for (int i = 0; i < c->r->nvalue; i++) {
        const RowValue *v = &c->r->value[i];
        if (c->wanted[i] != c->group) continue;
        if (!c->row_table[i])
            c->row_table[i] = e_var(e, LLVMGetUndef(LLVMArrayType(e->ptr, (unsigned)v->n->nin)));
        Reroll *rows = reroll_open(e);
        for (int k = 0; k < v->n->nin; k++) {
            if (v->n->nin > WRITTEN) reroll_next(rows);
            V at = e_i64(e, k), row = piece_row(c, v->n->in[k]);
            LLVMBuildStore(e->b, row, LLVMBuildGEP2(e->b, e->ptr, c->row_table[i], &at, 1, ""));
        }
        reroll_close(rows);
    }
}
