/* SPDX-License-Identifier: MIT
** Which values a row kernel stores: a statement computes them once, because they are needed in
** memory or cost too much to compute again for each reader.
*/
#include "codegen.h"
#include "rows_analysis.h"
#include "fatal.h"

/* An expression is evaluated by recursion, and LLVM takes the square of a loop's body as time: one
** that would be DEEPEST instructions deep or more is cut in two by a value that is stored; and so
** is one that views hand to several users, each of whom would compute it at other elements, where
** that takes more than DEAR instructions. */
enum { CHEAP = 4, DEAR = 256, DEEPEST = 600, MEET_STEPS = 16, NOT_USED = -2 };

static int own_cost(const Node *n) {
    switch (class_of(n)) {
    case VIEW: return 0;
    case POINTWISE: return op_info[n->op].cost;
    case REDUCE: return 100;
    default: return 1;
    }
}

/* Instructions for an element, functions' too; views and reductions take a call. */
static int own_length(const Node *n) { return class_of(n) == POINTWISE ? op_info[n->op].again : 1; }

static bool is_view(const Node *n) { return class_of(n) == VIEW && n->op != OP_concat; }

/* Hands on to an operand of the value what it wants of it: that some user sees it in another shape,
** by row-major position, or by pointer, so in memory; or for many elements each. */
static void want(const RowValue *user, bool by_pointer, RowValue *x) {
    const Node *n = user->n;
    bool moved = n->op == OP_reshape && !rows_trivial(n);
    x->use.walked |= class_of(n) == ITERATION || (is_view(n) && user->use.walked);
    x->use.piece |= by_pointer && n->nin > ROWS_UNROLL;
    x->use.whole |= n->op != OP_slice || n->attr->axis;
    x->use.reshaped |= moved || (n->op == OP_reshape && user->use.reshaped);
    if (moved || by_pointer) {
        x->use.wants.memory = true;
    } else if (is_view(n)) {
        if (n->op != OP_reshape && user->use.reshaped) return; /* kept itself */
        x->use.wants.memory |= user->use.wants.memory;
        x->use.wants.tokens |= user->use.wants.tokens;
        x->use.wants.several |= user->use.wants.several
            || (x->use.wants.any && user->use.wants.any);
        x->use.wants.any |= user->use.wants.any;
        if (user->use.wants.widest > x->use.wants.widest)
            x->use.wants.widest = user->use.wants.widest;
    } else {
        int64_t count = class_of(n) == POINTWISE ? shape_count(&n->shape) : 0;
        x->use.wants.tokens |= n->shape.lead == LEAD_TOKENS;
        x->use.wants.several |= x->use.wants.any;
        x->use.wants.any = true;
        if (count > x->use.wants.widest) x->use.wants.widest = count;
    }
}

/* Users have larger numbers than their operands. */
static void find_wants(Rows *r) {
    for (int i = r->nvalue; i-- > 0;) {
        const RowValue *user = &r->value[i];
        bool by_pointer = user->here && rows_by_pointer(user->n);
        for (int k = 0; user->here && k < node_reads(user->n); k++)
            want(user, by_pointer, rows_value(r, user->n->in[k]));
    }
}

static bool must_store(const RowValue *v) {
    bool uniform = v->n->shape.lead == LEAD_NONE && v->use.wants.tokens,
         wider = shape_count(&v->n->shape) < v->use.wants.widest;
    return v->use.wants.memory || ((uniform || wider) && v->code.cost > 1);
}

/* A piece of a stack that is read by number must be a row. */
static bool is_stored_view(const Rows *r, const RowValue *v) {
    int64_t offset;
    if (v->use.piece && !rows_piece(r, v->n, &offset)) return true;
    if (v->n->op == OP_reshape) return false;
    return v->code.depth >= DEEPEST || v->use.reshaped
        || (v->n->op == OP_stack && (v->use.walked || !rows_by_pointer(v->n)));
}

static bool is_stored(const Rows *r, const RowValue *v) {
    const Node *n = v->n;
    if (v->lies.nout) return true;
    if (!v->here) return false;
    if (is_view(n)) return is_stored_view(r, v);
    if (v->code.depth >= DEEPEST || v->use.walked || class_of(n) == ITERATION) return true;
    return n->op == OP_concat || (class_of(n) == REDUCE && (rows_last_axis(n) || v->use.uses != 1))
        || (v->use.uses > 1 && v->code.cost > CHEAP && v->use.meet < 0)
        || (v->use.wants.several && v->code.cost > DEAR) || must_store(v);
}

static int64_t many_times(int64_t steps, const Node *reduction) {
    int64_t count = reduction->in[0]->shape.dim[reduction->attr->axis];
    return steps > ROWS_COPIES || count > ROWS_COPIES ? ROWS_COPIES + 1 : steps * count;
}

/* Roughly, instructions to compute an element again; how deep its expression is; and whether that
** reads rows by pointer. */
static void sum_up(const Rows *r, RowValue *v) {
    v->code.cost = own_cost(v->n);
    int own = own_length(v->n);
    v->code.depth = own;
    v->code.reads_stack = rows_by_pointer(v->n);
    v->code.reads_pieces = v->n->op == OP_stack;
    v->code.reads_rows = false;
    v->code.steps = 1;
    for (int i = 0; v->here && i < node_reads(v->n); i++) {
        const RowValue *x = rows_value(r, v->n->in[i]);
        v->code.cost = v->code.cost + x->code.cost <= DEAR ? v->code.cost + x->code.cost : DEAR + 1;
        if (x->code.depth + own > v->code.depth) v->code.depth = x->code.depth + own;
        v->code.reads_stack |= x->code.reads_stack;
        v->code.reads_pieces |= x->code.reads_pieces;
        v->code.reads_rows |= x->code.reads_rows;
        if (x->code.steps > v->code.steps) v->code.steps = x->code.steps;
    }
    if (class_of(v->n) == REDUCE) v->code.steps = many_times(v->code.steps, v->n);
    if (v->code.depth > 2 * DEEPEST)
        limit_at(v->n, "expected at most %d reshapes one after another, found more", DEEPEST);
}

static void decide(const Rows *r, RowValue *v) {
    sum_up(r, v);
    v->stored = is_stored(r, v);
    v->code.size = v->code.depth > v->code.cost ? v->code.depth : v->code.cost;
    if (v->here && !v->stored) return;
    v->code.reads_stack &= v->here && v->n->op == OP_stack;
    v->code.reads_pieces = false;
    v->code.reads_rows = v->here && v->n->shape.lead == LEAD_TOKENS && !rows_small(v->n);
    v->code.cost = v->n->op != OP_fill;
    v->code.depth = 0;
    v->code.steps = 1;
}

static void find_idle(Rows *r) {
    for (int i = r->nvalue; i-- > 0;) {
        RowValue *v = &r->value[i];
        v->use.idle = v->here && class_of(v->n) == VIEW && !v->stored && !v->use.used;
        for (int k = 0; v->here && !v->use.idle && k < node_reads(v->n); k++)
            rows_value(r, v->n->in[k])->use.used = true;
    }
}

/* LLVM takes its time with a function of many instructions: a kernel has a limit. */
static void count_instructions(const Rows *r) {
    int64_t sum = 0;
    for (int i = 0; i < r->nvalue; i++) {
        const Node *n = r->value[i].n;
        sum += r->value[i].here && !is_view(n) ? own_length(n) : 0;
        if (sum > KERNEL_INSTRUCTIONS)
            limit_at(n,
                     "expected at most %d instructions between one product and the next, found "
                     "more from operation '%s' of %s on, number %d of %d",
                     KERNEL_INSTRUCTIONS, op_info[n->op].name, n->site ? n->site : "the model",
                     i + 1, r->nvalue);
    }
}

/* Of an element's users the next one that is computed with it: at the same place, kept nowhere. */
static int next_meet(const Rows *r, int user, const Node *n) {
    const RowValue *v = &r->value[user];
    bool alike = v->here && !v->lies.nout && class_of(v->n) == POINTWISE
        && shape_equal(&v->n->shape, &n->shape);
    return alike ? v->use.meet : -1;
}

/* Where ways to users meet, of which the second is 'b'. */
static int meet_of(const Rows *r, int a, int b, const Node *n) {
    for (int steps = 0; a != b && a >= 0 && b >= 0; steps++) {
        if (steps == MEET_STEPS) return -1;
        if (a < b) a = next_meet(r, a, n);
        else b = next_meet(r, b, n);
    }
    return a == b ? a : -1;
}

/* Users have larger numbers than their operands. */
static void find_meets(Rows *r) {
    for (int i = 0; i < r->nvalue; i++)
        r->value[i].use.meet = NOT_USED;
    for (int i = r->nvalue; i-- > 0;) {
        const RowValue *user = &r->value[i];
        for (int k = 0; user->here && k < node_reads(user->n); k++) {
            RowValue *x = rows_value(r, user->n->in[k]);
            int to = class_of(user->n) == POINTWISE && shape_equal(&user->n->shape, &x->n->shape)
                ? i
                : -1;
            x->use.meet = x->use.meet == NOT_USED ? to : meet_of(r, x->use.meet, to, x->n);
        }
    }
}

void rows_find_stored(Rows *r) {
    count_instructions(r);
    find_meets(r);
    for (int i = 0; i < r->nvalue; i++)
        for (int k = 0; r->value[i].here && k < node_reads(r->value[i].n); k++)
            rows_value(r, r->value[i].n->in[k])->use.uses++;
    for (int i = 0; i < r->step->n; i++) {
        const Node *n = r->step->node[i];
        if (class_of(n) != TOKENSUM) continue;
        RowValue *x = rows_value(r, n->in[0]);
        x->use.uses++;
        x->use.meet = -1; /* the sum over tokens is a statement of its own */
        x->use.used = x->use.whole = true;
    }
    find_wants(r);
    for (int i = 0; i < r->nvalue; i++)
        decide(r, &r->value[i]);
    find_idle(r);
}
