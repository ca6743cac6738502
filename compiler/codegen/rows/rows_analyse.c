/* SPDX-License-Identifier: MIT
** Analysis of a row kernel: what it computes, from which operands, to which results, and where its
** scratch lies.  It looks at classes and shapes only.
*/
#include "descent.h"
#include "rows_analysis.h"

#include <string.h>

/* == Nodes and operands =================================================== */

static RowValue *new_value(Rows *r, const Node *n, bool here) {
    r->slot[n->id] = r->nvalue;
    RowValue *v = &r->value[r->nvalue++];
    *v = (RowValue){ .n = n,
                     .rank = n->op == OP_fill ? -1 : r->nranked++,
                     .here = here,
                     .weight = here && rows_is_weight(n),
                     .lies.operand = -1,
                     .statement = -1,
                     .lies.scratch = -1,
                     .in.first = -1,
                     .in.series = -1 };
    rows_find_numbers(r, v);
    return v;
}

static bool in_step(const Rows *r, const Node *n) {
    if (class_of(n) == TOKENSUM || class_of(n) == SIDE) return false;
    Domain d = r->p->domain[n->id];
    return (d == DOMAIN_ROW || d == DOMAIN_UNIFORM) && r->p->step_of[n->id] == r->index;
}

static bool is_here(const Rows *r, const Node *n) {
    bool row = class_is_row(class_of(n)) && class_of(n) != WAVE;
    bool view = row
        && (n->op == OP_reshape
            || (class_of(n) == VIEW && n->op != OP_concat && !r->p->buffer[n->id]));
    return row && (in_step(r, n) || r->p->domain[n->id] == DOMAIN_PARAM || view);
}

static bool is_series(const Rows *r, const Node *n) {
    return !r->iterates && rows_is_series(r->p, n);
}

/* Pieces of a series come into the kernel only if they are computed here, by themselves. */
static int visit_operands(void *user, const Node *n) {
    const Rows *r = user;
    if (rows_value(r, n)) return -1;
    return is_here(r, n) && !is_series(r, n) ? node_reads(n) : 0;
}

/* What the step computes has smaller numbers than what reads it, so that it is here already. */
static void bring_series(Rows *r, const Node *stack) {
    int late = 0;
    for (int i = 0; i < stack->nin; i++)
        late += in_step(r, plan_storage(stack->in[i]));
    const Node **piece = graph_alloc(r->p->g, ((size_t)late + 1) * sizeof *piece);
    for (int i = 0, n = 0; n < late; i++) {
        const Node *x = plan_storage(stack->in[i]);
        if (!in_step(r, x)) continue;
        if (!rows_value(r, x)) bug(x, "is computed after what reads it");
        piece[n++] = x;
    }
    new_value(r, stack, false)->in.series = r->nseries;
    *rows_new_series(r) = (RowSeries){ stack, 0, piece, late };
}

static void bring(Rows *r, const Node *n) {
    if (is_series(r, n)) {
        bring_series(r, n);
        return;
    }
    bool source = class_of(n) == SOURCE || plan_listed(n), here = is_here(r, n);
    RowValue *v = new_value(r, n, here);
    if (here || n->op == OP_fill) return;
    if (!source && class_of(n) != WAVE && !plan_buffer(r->p, n))
        bug(n, "is read in step %d but not stored", r->index);
    v->lies.operand = rows_add_operand(r, place_of(r->p, n), n, false);
    if (class_of(n) == WAVE) rows_add_operand(r, place_of(r->p, n->in[0]), NULL, false);
}

/* Brings a node and what it is computed from into the kernel: operands first. */
static void visit(Rows *r, const Node *n) {
    Descent *walk = r->shared.walk;
    walk->user = r;
    descent_begin(walk, n);
    while ((n = descent_next(walk)))
        bring(r, n);
}

static void add_out(Rows *r, const Node *n, Ref ref, bool add) {
    RowValue *v = rows_value(r, n);
    v->lies.out = graph_grown(r->p->g, v->lies.out, v->lies.nout, &v->lies.outs,
                              sizeof *v->lies.out);
    v->lies.out[v->lies.nout++] = rows_add_operand(r, ref, n, add);
}

/* The step that adds this piece of a gradient: the one that computes it, or the last uniform step
** after the tasks that do. */
static bool adds_here(const Rows *r, const Contribution *c) {
    int step = r->p->step_of[c->node->id];
    if (step == r->index) return true;
    const Buffer *b = r->p->buffer[c->node->id];
    const Phase *phase = &r->p->phase[r->step->phase];
    return b && b->space == SPACE_CONSTANT && r->p->domain[c->node->id] == DOMAIN_GLOBAL
        && r->p->step[step].phase == r->step->phase && r->index == phase->first + phase->count - 1;
}

/* Results: buffers, gradients of parameters. */
static void find_results(Rows *r) {
    for (int i = 0; i < r->step->n; i++) {
        const Node *n = r->step->node[i];
        if (class_of(n) != TOKENSUM && r->p->buffer[n->id]) add_out(r, n, place_of(r->p, n), false);
    }
    if (r->step->kind != STEP_UNIFORM) return;
    for (int i = r->shared.first_part[r->step->phase]; i >= 0; i = r->shared.next_part[i]) {
        const Contribution *c = &r->p->part[i];
        if (!adds_here(r, c)) continue;
        visit(r, c->node);
        add_out(r, c->node, place_gradient(r->p, c->param), true);
    }
}

/* == Scratch ============================================================== */

static bool has_scratch(const Rows *r, const RowValue *v) {
    if (!v->here || !v->stored) return false;
    bool flushed = v->lies.nout && rows_small(v->n) && v->n->shape.lead == LEAD_TOKENS;
    if (!v->lies.memory && !flushed) return false;
    /* read back from the result */
    return !v->lies.nout || r->operand[v->lies.out[0]].add || rows_small(v->n);
}

/* Floats: so many, so many for each of Rows.count, and for each of its square. */
typedef struct RowsExtent {
    int64_t fixed, each, square;
} RowsExtent;

/* Tokens whose rows of a value are kept at once. */
static int64_t kept_tokens(const Rows *r, const RowValue *v) {
    bool one = v->n->shape.lead == LEAD_NONE || !(v->lies.apart || rows_small(v->n));
    return one ? 1 : r->lanes;
}

/* There is room for what is longer than a series, too: (count + ROWS_NEAR) for each axis that goes
** with it. */
static void place_counted(Rows *r, RowValue *v, RowsExtent *used) {
    const Shape *s = &v->n->shape;
    int64_t floats = kept_tokens(r, v);
    int axes = 0;
    for (int i = 0; i < s->rank; i++) {
        bool counts = rows_counts(r, s->dim[i]);
        axes += counts;
        if (!counts) floats *= s->dim[i];
    }
    floats = (floats + 15) / 16 * 16;
    v->lies.scratch = used->fixed;
    v->lies.scratch_each = used->each;
    v->lies.scratch_square = used->square;
    used->fixed += floats * (axes == 1 ? ROWS_NEAR : ROWS_NEAR * ROWS_NEAR);
    used->each += floats * (axes == 1 ? 1 : 2 * ROWS_NEAR);
    used->square += axes == 1 ? 0 : floats;
}

/* First what is always as large. */
static void place_scratch(Rows *r) {
    for (int i = 0; i < r->nvalue; i++) {
        RowValue *v = &r->value[i];
        if (v->here && class_of(v->n) == ITERATION) {
            v->lies.work = r->scratch;
            r->scratch += (rows_iteration_floats(r, v->n) + 15) / 16 * 16;
        }
        const Shape *s = &v->n->shape;
        if (!has_scratch(r, v) || rows_counted(r, s)) continue;
        v->lies.scratch = r->scratch;
        int64_t n = shape_count(s) * kept_tokens(r, v);
        r->scratch += (n + 15) / 16 * 16;
    }
    RowsExtent used = { .fixed = r->scratch };
    for (int i = 0; i < r->nvalue; i++)
        if (has_scratch(r, &r->value[i]) && rows_counted(r, &r->value[i].n->shape))
            place_counted(r, &r->value[i], &used);
    r->scratch = used.fixed + (used.each + used.square * r->count) * r->count;
}

/* Lists the pieces of gradients by the phase that computes them, in order. */
static void list_parts(RowsShared *s, const Plan *p) {
    size_t phases = ((size_t)p->nphase + 1) * sizeof *s->first_part;
    s->first_part = memset(graph_alloc(p->g, phases), -1, phases);
    s->next_part = graph_alloc(p->g, ((size_t)p->npart + 1) * sizeof *s->next_part);
    for (int i = p->npart; i-- > 0;) {
        int step = p->step_of[p->part[i].node->id];
        if (step < 0) continue;
        s->next_part[i] = s->first_part[p->step[step].phase];
        s->first_part[p->step[step].phase] = i;
    }
}

RowsShared rows_shared(const Plan *p) {
    size_t n = (size_t)p->g->n + 16;
    RowsShared s = { .slot = graph_alloc(p->g, n * sizeof(int)),
                     .value = graph_alloc(p->g, n * sizeof(RowValue)) };
    s.walk = graph_alloc(p->g, sizeof *s.walk);
    s.arrays = graph_alloc(p->g, sizeof *s.arrays);
    *s.walk = (Descent){ .mem = p->g, .operands = visit_operands };
    p->g->short_rows = rows_are_short(p->g);
    list_parts(&s, p);
    return s;
}

static void find_operands(Rows *r) {
    const Step *s = r->step;
    for (int i = 0; i < s->n; i++)
        r->iterates |= class_of(s->node[i]) == ITERATION;
    for (int i = 0; i < s->n; i++)
        visit(r, class_of(s->node[i]) == TOKENSUM ? s->node[i]->in[0] : s->node[i]);
    find_results(r);
    for (int i = 0; i < s->n; i++) {
        if (class_of(s->node[i]) != TOKENSUM) continue;
        const Buffer *b = r->p->partial[s->node[i]->id];
        rows_add_operand(r, (Ref){ AREA_GRANULE, (int32_t)b->stride, b->offset }, s->node[i], true);
    }
}

Rows *rows_analyse(const Plan *p, int step, int lanes, RowsShared shared) {
    Rows *r = graph_alloc(p->g, sizeof *r);
    *r = (Rows){ .p = p,
                 .step = &p->step[step],
                 .index = step,
                 .lanes = lanes,
                 .shared = shared,
                 .slot = shared.slot,
                 .value = shared.value };
    find_operands(r);
    rows_find_count(r);
    rows_place_series(r);
    rows_find_stored(r);
    rows_find_statements(r);
    rows_confirm_count(r);
    place_scratch(r);
    return r;
}
