/*
** What a row kernel stores: values that a statement computes once, because they are
** needed in memory or cost too much to compute again for each user.
*/
#include "rows_analysis.h"

enum { CHEAP = 4 };

static int own_cost(const Node *n) {
    switch (class_of(n)) {
    case VIEW: return 0;
    case POINTWISE: return op_info[n->op].cost;
    case REDUCE: return 100;
    default: return 1;
    }
}

/* Roughly, instructions to compute an element again. */
static int cost(const Rows *r, const Node *n, int budget) {
    const RowValue *v = rows_value(r, n);
    if (budget <= 0) return 0;
    if (!v->here || v->stored) return n->op == OP_fill ? 0 : 1;
    int c = own_cost(n);
    for (int i = 0; i < node_reads(n); i++)
        c += cost(r, n->in[i], budget - c);
    return c;
}

static bool is_view(const Node *n) { return class_of(n) == VIEW && n->op != OP_concat; }

/* Some user sees it in another shape: by row-major position, so in memory. */
static bool is_reshaped(const Rows *r, const Node *n) {
    int v = r->slot[n->id];
    for (int i = r->users[v]; i < r->users[v + 1]; i++) {
        const Node *user = r->user[i];
        if (user->op == OP_reshape && (!rows_trivial(user) || is_reshaped(r, user))) return true;
    }
    return false;
}

/* A user needs the value in memory: to see it in another shape, by pointer, or
** for many elements each. */
static bool must_store(const Rows *r, const Node *n, const Node *user) {
    if (user->op == OP_reshape && !rows_trivial(user)) return true;
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

/* A piece of a stack that is read by number, and no row yet. */
static bool is_loose_piece(const Rows *r, const Node *n) {
    int v = r->slot[n->id];
    int64_t offset;
    for (int i = r->users[v]; i < r->users[v + 1]; i++)
        if (rows_by_number(r->user[i])) return !rows_piece(r, n, &offset);
    return false;
}

static bool is_stored_view(const Rows *r, const RowValue *v) {
    const Node *n = v->n;
    if (is_loose_piece(r, n)) return true;
    return n->op != OP_reshape
        && (is_reshaped(r, n) || (n->op == OP_stack && (v->walked || !rows_by_pointer(n))));
}

static void decide(Rows *r, RowValue *v) {
    const Node *n = v->n;
    Class c = class_of(n);
    if (v->nout) v->stored = true;
    if (!v->here || v->stored) return;
    if (is_view(n)) {
        v->stored = is_stored_view(r, v);
        return;
    }
    v->stored = v->walked || c == ITERATION || n->op == OP_concat
        || (c == REDUCE && (rows_last_axis(n) || v->uses != 1))
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

/* An iteration reads its operands in an order of its own, so it needs them in memory. */
static void find_walked(Rows *r) {
    for (int i = r->nvalue; i-- > 0;) {
        const RowValue *v = &r->value[i];
        if (!v->here || !(class_of(v->n) == ITERATION || (v->walked && is_view(v->n)))) continue;
        for (int k = 0; k < node_reads(v->n); k++)
            rows_value(r, v->n->in[k])->walked = true;
    }
}

static bool is_idle(const Rows *r, const RowValue *v) {
    if (!v->here || v->stored || v->nout || class_of(v->n) != VIEW) return false;
    int number = (int)(v - r->value);
    for (int i = r->users[number]; i < r->users[number + 1]; i++) {
        const RowValue *user = rows_value(r, r->user[i]);
        if (!user || !user->idle) return false;
    }
    return true;
}

static bool is_in_parts(const Rows *r, const RowValue *v) {
    int number = (int)(v - r->value);
    for (int i = r->users[number]; i < r->users[number + 1]; i++)
        if (r->user[i]->op != OP_slice || r->user[i]->attr.axis) return false;
    return !v->here && v->n->shape.rank > 1;
}

void rows_find_stored(Rows *r) {
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
    find_walked(r);
    for (int i = 0; i < r->nvalue; i++)
        decide(r, &r->value[i]);
    for (int i = r->nvalue; i-- > 0;)
        r->value[i].idle = is_idle(r, &r->value[i]);
    for (int i = 0; i < r->nvalue; i++)
        r->value[i].parts = is_in_parts(r, &r->value[i]);
}
