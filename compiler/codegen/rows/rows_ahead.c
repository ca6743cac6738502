/* SPDX-License-Identifier: MIT
** Prefetches rows: while a group with a long computation runs, it loads what later groups of this
** token and the first groups of the next token will read.  Without prefetching, each of these
** groups waits for memory, because the rows of a list are more streams than a processor follows by
** itself.
*/
#include "rows_code.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW_FLOATS = 512, /* of fewer the processor does it */
    NOW = 1,
    LATER = 2 /* read by the group or one before it; by one behind it */
};

/* == What groups read ===================================================== */

typedef struct GroupReads {
    const RowCode *c;
    int *seen;     /* by value: the last group that computes it as part of something, and 1 */
    char *operand; /* by operand: NOW, LATER */
    char when;
    int group;
    int64_t work; /* instructions for an element */
} GroupReads;

static void read_value(GroupReads *r, const Node *n, bool statement) {
    const RowValue *v = rows_value(r->c->r, n);
    int id = (int)(v - r->c->r->value);
    if (!statement && r->seen[id] == r->group + 1) return;
    r->seen[id] = r->group + 1;
    if (!v->here && v->lies.operand >= 0) r->operand[v->lies.operand] |= r->when;
    if (!v->here || (v->stored && !statement) || v->in.series >= 0) return;
    if (op_info[n->op].class == POINTWISE) r->work += op_info[n->op].again;
    for (int i = 0; i < node_reads(n); i++)
        read_value(r, n->in[i], false);
}

static void read_group(GroupReads *r, int group) {
    const StatementGroup *g = &r->c->r->group[group];
    r->group = group;
    r->work = 0;
    for (int i = g->first; i >= 0; i = r->c->r->statement[i].next) {
        const Statement *s = &r->c->r->statement[i];
        if (s->piece) read_value(r, s->piece, false);
        else if (s->kind == PARTIAL) read_value(r, s->node->in[0], false);
        else read_value(r, s->node, true);
    }
}

/* == Choices ============================================================== */

/* Elements, the same for each length of a series that the code is for. */
static int64_t elements_of(const Rows *r, const Shape *s) {
    int64_t count = 1;
    for (int i = 0; i < s->rank; i++)
        count *= rows_counts(r, s->dim[i]) ? ROWS_UNROLL : s->dim[i];
    return count;
}

/* The one that computes longest of those that go along several rows. */
static int rows_ahead_longest(GroupReads *r, int first, int end) {
    int best = -1;
    int64_t most = 0;
    for (int i = first; i < end; i++) {
        int64_t count = elements_of(r->c->r, &r->c->r->group[i].base);
        read_group(r, i);
        if (count < FEW_FLOATS || r->work * count <= most) continue;
        most = r->work * count;
        best = i;
    }
    return best;
}

static bool has_rows(const Operand *o) {
    return o->node && o->node->shape.lead == LEAD_TOKENS && !plan_bf16(o->node) && !o->add
        && op_info[o->node->op].class != WAVE;
}

/* A row of it is at least half of what the group goes along; one whose stride is held by an operand
** is as long as a list. */
static bool rows_ahead_is_long(const Rows *r, const Operand *o, const StatementGroup *g) {
    return has_rows(o)
        && (o->stride >= 0 || 2 * (int64_t)o->ref.stride >= elements_of(r, &g->base));
}

/* A row of it is as long as the group's last axis. */
static bool rows_ahead_is_row(const Operand *o, const StatementGroup *g) {
    int64_t floats = g->base.dim[g->base.rank - 1];
    return has_rows(o) && o->stride < 0 && o->ref.stride >= floats && o->ref.stride < 2 * floats;
}

/* The most operands one after another, as far apart from token to token, that only later groups
** read: a row each. */
static void choose_rows(RowCode *c, const char *operand) {
    const Operand *o = c->r->operand;
    int first = 0;
    c->soon.rows = 0;
    for (int i = 0; i < c->r->nfixed; i++) {
        bool row = operand[i] == LATER && rows_ahead_is_row(&o[i], c->soon.group);
        if (!row || o[i].ref.stride != o[first].ref.stride) first = row ? i : i + 1;
        if (!row || i + 1 - first <= c->soon.rows) continue;
        c->soon.rows = i + 1 - first;
        c->soon.row = first;
    }
}

void ahead_choose(RowCode *c, int first, int end) {
    const Rows *r = c->r;
    GroupReads reads = { .c = c,
                         .seen = checked_new((size_t)r->nvalue + 1, sizeof *reads.seen),
                         .operand = checked_new((size_t)r->noperand + 1, 1) };
    int chosen = rows_ahead_longest(&reads, first, end);
    c->soon.group = chosen < 0 ? NULL : &r->group[chosen];
    c->soon.nasked = 0;
    memset(reads.seen, 0, (size_t)r->nvalue * sizeof *reads.seen);
    for (int i = first; c->soon.group && i < end; i++) {
        reads.when = i <= chosen ? NOW : LATER;
        read_group(&reads, i);
    }
    for (int i = 0; i < r->nfixed && c->soon.nasked < AHEAD_OPERANDS; i++)
        if (reads.operand[i] == LATER && rows_ahead_is_long(r, &r->operand[i], c->soon.group))
            c->soon.asked[c->soon.nasked++] = i;
    if (c->soon.group) choose_rows(c, reads.operand);
    free(reads.seen), free(reads.operand);
}

/* == Code ================================================================= */

/* The lines of a step's elements. */
static void rows_ahead_ask(RowCode *c, V row, V position) {
    for (int i = 0; i < c->now.lanes; i += LINE)
        e_prefetch(c->e, e_at(c->e, row, e_iadd(c->e, position, e_i64(c->e, i))), 1);
}

/* The next token's rows of stacks that have tables, where the group goes along their pieces. */
static void ask_pieces(RowCode *c, const Nest *n) {
    for (int i = 0; i < c->r->nvalue; i++) {
        const Node *stack = c->r->value[i].n, *first = stack->nin ? stack->in[0] : NULL;
        if (!c->stacks.row_table[i] || stack->nin != n->dim[0]
            || shape_count(&first->shape) != n->dim[1])
            continue;
        const RowValue *piece = rows_value(c->r, first);
        if (!piece || piece->here || piece->lies.operand < 0 || plan_bf16(first)) continue;
        V at = e_iadd(c->e, n->idx[1], memory_stride(c, piece->lies.operand));
        rows_ahead_ask(c, memory_table_row(c, i, n->idx[0]), at);
    }
}

/* This token's rows of operands one after another. */
static void ask_rows(RowCode *c, V number, V at) {
    Emit *e = c->e;
    V last = e_i64(e, c->soon.rows - 1), first = e_i64(e, c->soon.row);
    V base = e_pointer_at(e, c->table, e_iadd(e, first, e_imin(e, number, last)));
    V row = e_at(e, base, e_imul(e, c->now.t, memory_stride(c, c->soon.row)));
    rows_ahead_ask(c, row, at);
}

void ahead_emit(RowCode *c, const Nest *n) {
    Emit *e = c->e;
    if (n->g != c->soon.group || c->now.mode != MODE_CHANNELS || c->now.lanes < c->r->lanes
        || n->rank != 2)
        return;
    bool counted = rows_counts(c->r, n->dim[0]);
    if (rows_counts(c->r, n->dim[1])) return;
    V position = e_iadd(e, e_imul(e, n->idx[0], e_i64(e, n->dim[1])), n->idx[1]);
    for (int i = 0; i < c->soon.nasked; i++) {
        int o = c->soon.asked[i];
        rows_ahead_ask(c, e_at(e, memory_base(c, o), e_imul(e, c->now.t, memory_stride(c, o))),
                       position);
    }
    if (!counted && 2 * c->soon.rows >= n->dim[0]) ask_rows(c, n->idx[0], n->idx[1]);
    if (!counted) ask_pieces(c, n);
}
