/*
** Analysis of a row kernel: what is computed, what is stored in between, and
** which computations share a loop nest.  Looks at classes and shapes only.
*/
#include "rows.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_AXIS = 16, FEW_ELEMENTS = 64, CHEAP = 4 };

bool rows_small(const Node *n) {
    const Shape *s = &n->shape;
    return s->rank == 0 || (s->dim[s->rank - 1] < LONG_AXIS && shape_count(s) <= FEW_ELEMENTS);
}

static Class class_of(const Node *n) { return op_info[n->op].class; }

bool rows_same_elements(const Shape *a, const Shape *b) {
    int i = 0, k = 0;
    for (;;) {
        while (i < a->rank && a->dim[i] == 1)
            i++;
        while (k < b->rank && b->dim[k] == 1)
            k++;
        if (i == a->rank || k == b->rank) return i == a->rank && k == b->rank;
        if (a->dim[i++] != b->dim[k++]) return false;
    }
}

/* A reshape that only adds or drops axes of length 1. */
static bool is_trivial(const Node *n) {
    return n->op == OP_reshape && rows_same_elements(&n->shape, &n->in[0]->shape);
}

Value *rows_value(const Rows *r, const Node *n) {
    int s = r->slot[n->id];
    return s >= 0 && s < r->nvalue && r->value[s].n == n ? &r->value[s] : NULL;
}

bool rows_by_pointer(const Node *n) {
    if (n->op != OP_stack || n->shape.lead != LEAD_TOKENS || rows_small(n->in[0])) return false;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->shape.lead != LEAD_TOKENS) return false;
    return true;
}

/* == Nodes and operands =================================================== */

static int add_operand(Rows *r, Ref ref, const Node *n, bool add) {
    if (r->noperand == r->operands) {
        Operand *old = r->operand;
        r->operands = r->operands ? 2 * r->operands : 64;
        r->operand = graph_alloc(r->p->g, (size_t)r->operands * sizeof *old);
        if (old) memcpy(r->operand, old, (size_t)r->noperand * sizeof *old);
    }
    r->operand[r->noperand] = (Operand){ ref, n, add };
    return r->noperand++;
}

static Value *new_value(Rows *r, const Node *n, bool here) {
    r->slot[n->id] = r->nvalue;
    Value *v = &r->value[r->nvalue++];
    *v = (Value){ .n = n, .here = here, .operand = -1, .statement = -1, .scratch = -1 };
    return v;
}

static bool in_step(const Rows *r, const Node *n) {
    if (class_of(n) == TOKENSUM || class_of(n) == SIDE) return false;
    Domain d = r->p->domain[n->id];
    return (d == DOMAIN_ROW || d == DOMAIN_UNIFORM) && r->p->step_of[n->id] == r->index;
}

/* Brings a node and what it is computed from into the kernel: operands first. */
static void visit(Rows *r, const Node *n) {
    if (rows_value(r, n)) return;
    Domain d = r->p->domain[n->id];
    bool source = class_of(n) == SOURCE || plan_listed(n);
    bool row = class_is_row(class_of(n)) && class_of(n) != WAVE;
    bool view = row
        && (n->op == OP_reshape
            || (class_of(n) == VIEW && n->op != OP_concat && !r->p->buffer[n->id]));
    bool here = row && (in_step(r, n) || d == DOMAIN_PARAM || view);
    if (here)
        for (int i = 0; i < node_reads(n); i++)
            visit(r, n->in[i]);
    Value *v = new_value(r, n, here);
    if (here || n->op == OP_fill) return;
    if (!source && class_of(n) != WAVE && !plan_buffer(r->p, n))
        bug(n, "is read in step %d but not stored", r->index);
    v->operand = add_operand(r, place_of(r->p, n), n, false);
    if (class_of(n) == WAVE) add_operand(r, place_of(r->p, n->in[0]), NULL, false);
}

static void add_out(Rows *r, const Node *n, Ref ref, bool add) {
    Value *v = rows_value(r, n);
    if (v->nout == MAXOUT) bug(n, "has too many results");
    v->out[v->nout++] = add_operand(r, ref, n, add);
}

/* Results: buffers, gradients of parameters. */
/* The step that adds this piece of a gradient: the one that computes it, or the
** uniform step after the tasks that do. */
static bool adds_here(const Rows *r, const Contribution *c) {
    int step = r->p->step_of[c->node->id];
    if (step == r->index) return true;
    const Buffer *b = r->p->buffer[c->node->id];
    return b && b->space == SPACE_CONSTANT && r->p->domain[c->node->id] == DOMAIN_GLOBAL
        && r->p->step[step].phase == r->step->phase;
}

static void find_results(Rows *r) {
    for (int i = 0; i < r->step->n; i++) {
        const Node *n = r->step->node[i];
        if (class_of(n) != TOKENSUM && r->p->buffer[n->id]) add_out(r, n, place_of(r->p, n), false);
    }
    if (r->step->kind != STEP_UNIFORM) return;
    for (int i = 0; i < r->p->npart; i++) {
        const Contribution *c = &r->p->part[i];
        if (!adds_here(r, c)) continue;
        visit(r, c->node);
        add_out(r, c->node, place_gradient(r->p, c->param), true);
    }
}

/* == What is stored ======================================================= */

/* Roughly, instructions to compute an element again. */
static int cost(const Rows *r, const Node *n, int budget) {
    const Value *v = rows_value(r, n);
    if (budget <= 0) return 0;
    if (!v->here || v->stored) return n->op == OP_fill ? 0 : 1;
    int c = class_of(n) == VIEW ? 0 : class_of(n) == REDUCE ? 100 : 1;
    if (class_of(n) == POINTWISE && n->nin == 1 && n->op != OP_neg && n->op != OP_stop_gradient)
        c = 6;
    if (n->op == OP_div) c = 6;
    for (int i = 0; i < node_reads(n); i++)
        c += cost(r, n->in[i], budget - c);
    return c;
}

static bool is_last_axis(const Node *n) {
    const Shape *s = &n->in[0]->shape;
    for (int i = n->attr.axis + 1; i < s->rank; i++)
        if (s->dim[i] != 1) return false;
    return true;
}

static bool is_view(const Node *n) { return class_of(n) == VIEW && n->op != OP_concat; }

/* Some user sees it in another shape: by row-major position, so in memory. */
static bool is_reshaped(const Rows *r, const Node *n) {
    int v = r->slot[n->id];
    for (int i = r->users[v]; i < r->users[v + 1]; i++) {
        const Node *user = r->user[i];
        if (user->op == OP_reshape && (!is_trivial(user) || is_reshaped(r, user))) return true;
    }
    return false;
}

/* A user needs the value in memory: to see it in another shape, by pointer, or
** for many elements each. */
static bool must_store(const Rows *r, const Node *n, const Node *user) {
    if (user->op == OP_reshape && !is_trivial(user)) return true;
    if (rows_by_pointer(user)) return true;
    if (is_view(user)) {
        if (user->op != OP_reshape && is_reshaped(r, user)) return false; /* kept itself */
        int u = r->slot[user->id];
        for (int i = r->users[u]; i < r->users[u + 1]; i++)
            if (must_store(r, n, r->user[i])) return true;
        return false;
    }
    bool uniform = n->shape.lead == LEAD_NONE && user->shape.lead == LEAD_TOKENS;
    bool wider = class_of(user) == POINTWISE && shape_count(&n->shape) < shape_count(&user->shape);
    return (uniform || wider) && cost(r, n, 4) > 1;
}

static bool any_must_store(const Rows *r, const Node *n) {
    int v = r->slot[n->id];
    for (int i = r->users[v]; i < r->users[v + 1]; i++)
        if (must_store(r, n, r->user[i])) return true;
    return false;
}

static void decide(Rows *r, Value *v) {
    const Node *n = v->n;
    Class c = class_of(n);
    if (v->nout) v->stored = true;
    if (!v->here || v->stored) return;
    if (is_view(n)) {
        v->stored = n->op != OP_reshape
            && (is_reshaped(r, n) || (n->op == OP_stack && !rows_by_pointer(n)));
        return;
    }
    v->stored = n->op == OP_concat || (c == REDUCE && (is_last_axis(n) || v->uses != 1))
        || (v->uses > 1 && cost(r, n, CHEAP + 1) > CHEAP) || any_must_store(r, n);
}

static void count_user(Rows *r, const Node *operand, int *fill, const Node *user) {
    int v = r->slot[operand->id];
    if (user) r->user[r->users[v] + fill[v]] = user;
    fill[v]++;
}

static void list_users(Rows *r, int *fill, bool store) {
    for (int i = 0; i < r->nvalue; i++) {
        const Node *n = r->value[i].n;
        for (int k = 0; r->value[i].here && k < node_reads(n); k++)
            count_user(r, n->in[k], fill, store ? n : NULL);
    }
    for (int i = 0; i < r->step->n; i++) {
        const Node *n = r->step->node[i];
        if (class_of(n) == TOKENSUM) count_user(r, n->in[0], fill, store ? n : NULL);
    }
}

static void find_stored(Rows *r) {
    size_t n = (size_t)r->nvalue + 2;
    int *fill = graph_alloc(r->p->g, n * sizeof *fill);
    r->users = graph_alloc(r->p->g, n * sizeof *r->users);
    list_users(r, fill, false);
    for (int i = 0; i < r->nvalue; i++) {
        r->value[i].uses = fill[i];
        r->users[i + 1] = r->users[i] + fill[i];
        fill[i] = 0;
    }
    r->user = graph_alloc(r->p->g, ((size_t)r->users[r->nvalue] + 1) * sizeof *r->user);
    list_users(r, fill, true);
    for (int i = 0; i < r->nvalue; i++)
        decide(r, &r->value[i]);
}

/* == Statements and groups ================================================ */

static Mode mode_of(const Node *n, bool uniform) {
    return uniform ? MODE_UNIFORM : rows_small(n) ? MODE_TOKENS : MODE_CHANNELS;
}

/* Statement s reads the stored value v at the element its own loops are at,
** and that is computed in loops it could be part of. */
static bool can_share(const Rows *r, const Value *v, const Statement *s, bool same) {
    const Statement *by = &r->statement[v->statement];
    return same && by->kind == ELEMENT && !by->piece && by->mode == s->mode
        && rows_same_elements(&by->base, &s->base);
}

static bool keeps_element(const Node *n, int i) {
    return is_trivial(n) || n->op == OP_after
        || (class_of(n) == POINTWISE && rows_same_elements(&n->in[i]->shape, &n->shape));
}

/* The group after which the statement can run; -1: any.  'same': n is read at
** the element that the statement's loops are at. */
static int after(const Rows *r, const Node *n, const Statement *s, bool same) {
    const Value *v = rows_value(r, n);
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

/* Once its group is known: what it reads from other groups is kept in memory. */
static void keep_read(Rows *r, const Node *n, const Statement *s, bool same) {
    Value *v = rows_value(r, n);
    if (!v->here) return;
    if (v->stored) {
        if (!can_share(r, v, s, same) || r->statement[v->statement].group != s->group)
            v->memory = true;
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

static void join_group(Rows *r, Statement *s, int after_group) {
    int g = after_group + 1;
    for (; g < r->ngroup; g++)
        if (r->group[g].mode == s->mode && rows_same_elements(&r->group[g].base, &s->base)) break;
    int id = (int)(s - r->statement);
    s->group = g;
    s->next = -1;
    if (g == r->ngroup) {
        r->group[r->ngroup++] = (Group){ s->mode, s->base, id, id };
        return;
    }
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
static void add_pieces(Rows *r, Value *v) {
    const Node *n = v->n;
    bool stack = n->op == OP_stack;
    int last = -1;
    int64_t at = 0;
    for (int i = 0; i < n->nin; i++) {
        Statement *s = new_statement(r, ELEMENT, n, n->in[i]);
        s->mode = mode_of(n->in[i], n->shape.lead == LEAD_NONE);
        if (s->mode == MODE_TOKENS && !rows_small(n)) s->mode = MODE_CHANNELS;
        s->piece = n->in[i];
        s->axis = stack ? 0 : n->attr.axis;
        s->first = at;
        at += stack ? 1 : n->in[i]->shape.dim[n->attr.axis];
        join_group(r, s, after(r, n->in[i], s, true));
        keep_read(r, n->in[i], s, true);
        if (s->group > last) last = s->group, v->statement = (int)(s - r->statement);
    }
    v->memory = true;
}

static void add_statement(Rows *r, Value *v) {
    const Node *n = v->n;
    if (n->op == OP_concat || n->op == OP_stack) {
        add_pieces(r, v);
        return;
    }
    bool reduce = class_of(n) == REDUCE && is_last_axis(n) && !rows_small(n->in[0]);
    Statement *s = new_statement(r, reduce ? REDUCE_LAST : ELEMENT, n, reduce ? n->in[0] : n);
    if (reduce) v->memory = true;
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

/* == Scratch ============================================================== */

static void place_scratch(Rows *r) {
    for (int i = 0; i < r->nvalue; i++) {
        Value *v = &r->value[i];
        if (!v->here || !v->stored) continue;
        bool flushed = v->nout && rows_small(v->n) && v->n->shape.lead == LEAD_TOKENS;
        if (!v->memory && !flushed) continue;
        /* read back from the result */
        if (v->nout && !r->operand[v->out[0]].add && !rows_small(v->n)) continue;
        int64_t n = shape_count(&v->n->shape);
        v->scratch = r->scratch;
        r->scratch += (n * (v->n->shape.lead == LEAD_NONE ? 1 : r->lanes) + 15) / 16 * 16;
    }
}

RowsShared rows_shared(const Plan *p) {
    size_t n = (size_t)p->g->n + 16;
    return (RowsShared){ graph_alloc(p->g, n * sizeof(int)), graph_alloc(p->g, n * sizeof(Value)) };
}

static void find_operands(Rows *r) {
    const Step *s = r->step;
    for (int i = 0; i < s->n; i++)
        visit(r, class_of(s->node[i]) == TOKENSUM ? s->node[i]->in[0] : s->node[i]);
    find_results(r);
    for (int i = 0; i < s->n; i++) {
        if (class_of(s->node[i]) != TOKENSUM) continue;
        const Buffer *b = r->p->partial[s->node[i]->id];
        add_operand(r, (Ref){ AREA_GRANULE, (int32_t)b->stride, b->offset }, s->node[i], true);
    }
}

static void find_statements(Rows *r) {
    const Step *s = r->step;
    size_t most = (size_t)s->n + 1;
    for (int i = 0; i < r->nvalue; i++)
        most += (size_t)r->value[i].n->nin + 2;
    r->statement = graph_alloc(r->p->g, most * sizeof *r->statement);
    r->group = graph_alloc(r->p->g, most * sizeof *r->group);
    for (int i = 0; i < r->nvalue; i++)
        if (r->value[i].stored) add_statement(r, &r->value[i]);
    for (int i = 0; i < s->n; i++)
        if (class_of(s->node[i]) == TOKENSUM) add_partial(r, s->node[i]);
}

Rows *rows_analyse(const Plan *p, int step, int lanes, RowsShared shared) {
    Rows *r = graph_alloc(p->g, sizeof *r);
    *r = (Rows){ .p = p,
                 .step = &p->step[step],
                 .index = step,
                 .lanes = lanes,
                 .slot = shared.slot,
                 .value = shared.value };
    find_operands(r);
    find_stored(r);
    find_statements(r);
    place_scratch(r);
    return r;
}

/* == Identity ============================================================= */

/* Of a value that comes from memory it does not matter what made it, only how it is read. */
static Op op_read(const Value *v) {
    int class = class_of(v->n);
    return v->here || v->n->op == OP_fill || class == WAVE || class == VIEW ? v->n->op : OP_param;
}

static void identify_value(const Rows *r, const Value *v, FILE *f) {
    const Node *n = v->n;
    const Attr *a = &n->attr;
    fprintf(f, "%d%s:%d %d", op_read(v), plan_half(n) ? "h" : "", n->shape.lead, n->shape.rank);
    for (int i = 0; i < n->shape.rank; i++)
        fprintf(f, " %lld", (long long)n->shape.dim[i]);
    if (v->here || n->op == OP_fill) {
        fprintf(f, "|%a %d %lld %lld", n->op == OP_fill ? a->value : 0, a->axis,
                (long long)a->first, (long long)a->count);
        for (int i = 0; op_info[n->op].attr == PERM && i < MAXRANK; i++)
            fprintf(f, " %d", a->perm[i]);
    }
    for (int i = 0; v->here && i < node_reads(n); i++)
        fprintf(f, " %%%d", r->slot[n->in[i]->id]);
    fprintf(f, "|%d", v->operand);
    for (int i = 0; i < v->nout; i++)
        fprintf(f, " >%d", v->out[i]);
    fputc('\n', f);
}

char *rows_identity(const Rows *r) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    fprintf(f, "%d\n", r->step->kind);
    for (int i = 0; i < r->nvalue; i++)
        identify_value(r, &r->value[i], f);
    for (int i = 0; i < r->noperand; i++) {
        const Operand *o = &r->operand[i];
        bool row = o->node && o->node->shape.lead == LEAD_TOKENS;
        fprintf(f, "%d %d %d %d\n",
                o->ref.area == AREA_TABLE || o->ref.area == AREA_GRANULE ? o->ref.area : 0, row,
                o->ref.stride, o->add);
    }
    for (int i = 0; i < r->step->n; i++)
        if (class_of(r->step->node[i]) == TOKENSUM)
            fprintf(f, "sum %%%d\n", r->slot[r->step->node[i]->in[0]->id]);
    fclose(f);
    return text;
}
