/* SPDX-License-Identifier: MIT
** The loops of a group.
*/
#include "rows_code.h"
#include "fatal.h"

#include <stdlib.h>

enum {
    FEW = 8,
    WIDE = 2,
    WRITTEN = 4, /* copies of a loop over a piece's elements that are no more than a loop's code */
    PIECES = 6,  /* groups of pieces one after another, so many that like ones become loops */
    LONG = 8     /* registers of a row, from which on its loop takes WIDE of them in a step */
};

/* == Loops of a group ===================================================== */

static void body(RowCode *c, Nest *n, bool lanes) {
    int mark = c->memos.n;
    statements_emit(c, n, lanes);
    ahead_emit(c, n);
    expr_forget(c, mark);
}

static void start_sums(RowCode *c, Nest *n) {
    int k = 0;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next, k++) {
        const Statement *s = &c->r->statement[i];
        if (s->kind != REDUCE_LAST) continue;
        V zero = e_splat(c->e, expr_start(c, s->node), c->now.lanes);
        n->sum[k] = e_var(c->e, zero);
        e_set(c->e, n->sum[k], zero);
    }
}

/* Adds the lanes' sums, in a fixed order, to what earlier loops left. */
static void finish_sums(RowCode *c, Nest *n, V *total) {
    int k = 0;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next, k++) {
        const Statement *s = &c->r->statement[i];
        if (s->kind != REDUCE_LAST) continue;
        bool sum = s->node->op == OP_sum;
        V x = e_get(c->e, n->sum[k]);
        x = c->now.lanes == 1 ? x : sum ? e_sum_lanes(c->e, x) : e_max_lanes(c->e, x);
        total[k] = !total[k] ? x : sum ? e_add(c->e, total[k], x) : e_max(c->e, total[k], x);
    }
}

static void write_sums(RowCode *c, Nest *n, V *total) {
    const RowCursor before = c->now;
    int k = 0;
    c->now.lanes = 1;
    for (int i = n->g->first; i >= 0; i = c->r->statement[i].next, k++) {
        const Statement *s = &c->r->statement[i];
        if (s->kind == REDUCE_LAST)
            memory_write(c, rows_value(c->r, s->node), nest_at(c, n, &s->node->shape, false),
                         total[k]);
    }
    c->now = before;
}

/* The last axis is as long as a series: no step is left out, and none is the only one. */
static void counted_lane_loops(RowCode *c, Nest *n, V *total, const int width[3]) {
    Emit *e = c->e;
    V at = e_i64(e, 0), length = index_length(c, n->dim[n->rank - 1]);
    for (int w = 0; w < 3; w++) {
        V rest = LLVMBuildURem(e->b, e_isub(e, length, at), e_i64(e, width[w]), "");
        V to = e_isub(e, length, rest);
        c->now.lanes = width[w];
        start_sums(c, n);
        Loop l = e_loop(e, at, to, width[w]);
        n->idx[n->rank - 1] = l.i;
        body(c, n, true);
        e_end(e, l);
        finish_sums(c, n, total);
        at = to;
    }
}

/* Elements from 'at' to before 'to', in steps of so many. */
static void steps(RowCode *c, Nest *n, int64_t at, int64_t to, int width, V *total) {
    Emit *e = c->e;
    V *axis = n->rank ? &n->idx[n->rank - 1] : NULL;
    if (to == at) return;
    c->now.lanes = width;
    start_sums(c, n);
    if (!axis) {
        body(c, n, false);
    } else if (to - at == width) {
        *axis = e_i64(e, at);
        body(c, n, true);
    } else {
        Loop l = e_loop(e, e_i64(e, at), e_i64(e, to), width);
        *axis = l.i;
        body(c, n, true);
        e_end(e, l);
    }
    finish_sums(c, n, total);
}

/* Elements may be written twice: where nothing is that they are made of, in scratch. */
static bool repeats(const RowCode *c, const StatementGroup *g) {
    for (int i = g->first; i >= 0; i = c->r->statement[i].next) {
        const Statement *s = &c->r->statement[i];
        if (s->kind != ELEMENT || rows_value(c->r, s->node)->lies.nout) return false;
    }
    return true;
}

static bool has_pieces_only(const RowCode *c, const StatementGroup *g) {
    for (int i = g->first; i >= 0; i = c->r->statement[i].next)
        if (!c->r->statement[i].piece) return false;
    return true;
}

/* A length that is no multiple of a step: the last one begins as far before the end as it is long,
** so that there is one loop, and none for what is left. */
static void repeating_loop(RowCode *c, Nest *n, int64_t length) {
    Emit *e = c->e;
    c->now.lanes = c->r->lanes * (length < (int64_t)LONG * c->r->lanes ? 1 : WIDE);
    Loop l = e_loop(e, e_i64(e, 0), e_i64(e, length), c->now.lanes);
    n->idx[n->rank - 1] = e_imin(e, l.i, e_i64(e, length - c->now.lanes));
    body(c, n, true);
    e_end(e, l);
}

/* Elements from 'at' to before 'to', in a loop or one step. */
static void piece_steps(RowCode *c, Nest *n, V at, V to, int width, bool loop) {
    Loop l = { 0 };
    c->now.lanes = width;
    if (loop) l = e_loop_once(c->e, at, to, width);
    n->idx[n->rank - 1] = loop ? l.i : at;
    body(c, n, true);
    if (loop) e_end(c->e, l);
}

/* Pieces: there are many, and little is done with each.  Where groups of them are a loop
** (rows_pieces.c) their lengths may differ, but none or all of them are as long as a register. */
static void piece_loops(RowCode *c, Nest *n, int64_t length) {
    Emit *e = c->e;
    int lanes = c->r->lanes;
    int64_t whole = length / lanes * lanes, same;
    V start = e_i64(e, 0), end = code_number(c, n->g, NUMBER_LENGTH, length);
    bool differs = !e_is_constant(end, &same);
    if (!whole) {
        piece_steps(c, n, start, end, 1, differs || length > 1);
        return;
    }
    V rest = LLVMBuildURem(e->b, end, e_i64(e, lanes), "");
    piece_steps(c, n, start, e_isub(e, end, rest), lanes, differs || whole > lanes);
    if (differs || whole < length)
        piece_steps(c, n, e_iadd(e, end, e_i64(e, -lanes)), end, lanes, false);
}

/* The last axis: wide steps, then register steps, then one by one. */
static void lane_loops(RowCode *c, Nest *n) {
    int64_t length = n->rank ? n->dim[n->rank - 1] : 1, at = 0;
    int width[] = { WIDE * c->r->lanes, c->r->lanes, 1 };
    bool counted = c->count && n->rank && rows_counts(c->r, length);
    bool again = n->rank && !counted && repeats(c, n->g);
    if (again && has_pieces_only(c, n->g)) {
        piece_loops(c, n, length);
        return;
    }
    if (again && length > c->r->lanes && length % c->r->lanes) {
        repeating_loop(c, n, length);
        return;
    }
    V *total = checked_new((size_t)n->g->count, sizeof *total);
    n->sum = checked_new((size_t)n->g->count, sizeof *n->sum);
    if (counted) counted_lane_loops(c, n, total, width);
    for (int w = 0; !counted && w < 3; w++) {
        int64_t to = at + (length - at) / width[w] * width[w];
        steps(c, n, at, to, width[w], total);
        at = to;
    }
    write_sums(c, n, total);
    free(total), free(n->sum);
}

typedef bool Reads(const RowCode *c, const Node *n);

static bool group_reads(const RowCode *c, const StatementGroup *g, Reads *reads) {
    for (int i = g->first; i >= 0; i = c->r->statement[i].next) {
        const Statement *s = &c->r->statement[i];
        const Node *n = s->piece ? s->piece : s->node;
        if (s->kind == PARTIAL) n = n->in[0];
        if (s->piece || s->kind == PARTIAL ? reads(c, n) : false) return true;
        for (int k = 0; !s->piece && s->kind != PARTIAL && k < node_reads(n); k++)
            if (reads(c, n->in[k])) return true;
    }
    return false;
}

/* Steps of a loop are written out where they read pieces, which have numbers of their own, or where
** that is little code. */
static bool writes_out(RowCode *c, const Nest *n, int64_t count, int64_t rest) {
    bool stack = group_reads(c, n->g, expr_reads_stack);
    if (c->stacks.few && (c->now.copies * count > WRITTEN || !tables_walk(c, n->g, count)))
        return false;
    bool rows = group_reads(c, n->g, expr_reads_rows);
    if (c->now.mode == MODE_TOKENS ? !stack && (rest > FEW || rows) : !stack || count > ROWS_UNROLL)
        return false;
    int64_t copies = c->now.copies * count;
    bool little = copies <= ROWS_COPIES
        && copies * n->g->code <= (c->now.mode == MODE_TOKENS ? ROWS_WRITTEN : ROWS_CODE);
    return little || group_reads(c, n->g, expr_reads_pieces);
}

static void outer_loops(RowCode *c, Nest *n, int axis) {
    Emit *e = c->e;
    bool scalar = c->now.mode == MODE_TOKENS;
    if (axis >= n->rank - !scalar) {
        if (scalar) body(c, n, false);
        else lane_loops(c, n);
        return;
    }
    int64_t count = n->dim[axis], rest = 1;
    for (int i = axis; i < n->rank; i++)
        rest *= n->dim[i];
    if (writes_out(c, n, count, rest)) {
        c->now.copies *= count;
        for (int64_t j = 0; j < count; j++) {
            n->idx[axis] = e_i64(e, j);
            outer_loops(c, n, axis + 1);
        }
        c->now.copies /= count;
        return;
    }
    Loop l = e_loop_once(e, e_i64(e, 0), index_length(c, count), 1);
    int mark = c->memos.n;
    n->idx[axis] = l.i;
    outer_loops(c, n, axis + 1);
    expr_forget(c, mark);
    e_end(e, l);
}

static Nest nest_of(RowCode *c, const StatementGroup *g) {
    Nest n = { .g = g };
    memory_begin(c);
    c->now.statements = g->count;
    for (int i = 0; i < g->base.rank; i++)
        if (g->base.dim[i] != 1) n.dim[n.rank++] = g->base.dim[i];
    return n;
}

/* Groups of pieces from this one on. */
static int count_pieces(const RowCode *c, int first) {
    int i = first;
    while (i < c->r->ngroup && rows_by_row(c->r, &c->r->group[i]) && repeats(c, &c->r->group[i])
           && has_pieces_only(c, &c->r->group[i]))
        i++;
    return i - first;
}

/* The first group from this one on that does not go through a tile row by row. */
static int row_groups(const RowCode *c, int first) {
    int i = first;
    while (i < c->r->ngroup && rows_by_row(c->r, &c->r->group[i]))
        i++;
    return i;
}

static void emit_group(RowCode *c, const StatementGroup *g) {
    Nest n = nest_of(c, g);
    expr_forget(c, 0);
    bool few = n.rank > 1 && tables_wanted(c, g, n.dim[n.rank - 1]);
    tables_fill(c, g, few);
    outer_loops(c, &n, 0);
}

static void emit_run(RowCode *c, const LikeParts *parts, PartsRun run, const StatementGroup *g) {
    Repeats repeats = { 0 };
    if (run.count == 1) {
        emit_group(c, g);
        return;
    }
    repeats_open(c->e, &repeats, parts, run);
    c->repeats = &repeats;
    for (; repeats.part < run.period; repeats.part++)
        emit_group(c, g + repeats.part);
    c->repeats = NULL;
    repeats_close(c->e, &repeats);
}

/* Many groups of pieces that follow each other: those that are alike are loops. */
static void emit_pieces(RowCode *c, int first, int groups) {
    LikeParts parts = { 0 };
    pieces_list(c, &parts, first, groups);
    for (int i = 0; i < groups;) {
        PartsRun run = parts_run(&parts, i);
        emit_run(c, &parts, run, &c->r->group[first + i]);
        i += run.period * run.count;
    }
    parts_free(&parts);
}

/* Groups that go through a tile row by row do so together: what one of them reads of a row, the
** next finds in the cache. */
static int emit_rows(RowCode *c, int first) {
    Emit *e = c->e;
    int end = row_groups(c, first);
    Loop l = e_loop(e, e_i64(e, 0), c->now.rows, 1);
    c->now.mode = MODE_CHANNELS;
    c->now.row = l.i;
    c->now.t = e_iadd(e, c->now.t0, l.i);
    ahead_choose(c, first, end);
    for (int i = first; i < end;) {
        int pieces = count_pieces(c, i);
        if (pieces >= PIECES) emit_pieces(c, i, pieces);
        else
            for (int k = 0; k < pieces || k < 1; k++)
                emit_group(c, &c->r->group[i + k]);
        i += pieces ? pieces : 1;
    }
    c->stacks.group = 0;
    c->stacks.few = false;
    e_end(e, l);
    return end;
}

int loops_emit(RowCode *c, int first) {
    const StatementGroup *g = &c->r->group[first];
    if (rows_by_row(c->r, g)) return emit_rows(c, first);
    Nest n = nest_of(c, g);
    c->now.mode = g->mode;
    expr_forget(c, 0);
    if (c->r->statement[g->first].kind == ITERATED) {
        iterate_emit(c, &c->r->statement[g->first]);
        return first + 1;
    }
    c->now.lanes = c->r->lanes;
    outer_loops(c, &n, 0);
    return first + 1;
}
