/* SPDX-License-Identifier: MIT
** The float64 interpreter, which defines what is correct.  It runs the nodes in order with the
** eval function of each row, and frees a value after its last use unless the caller asked for it.
*/
#include "fatal.h"
#include "op.h"

#include <math.h>
#include <stdlib.h>

typedef struct EvalValue {
    double *result[MAXRESULT];
    int last;    /* node that uses it last; INT32_MAX: kept */
    bool needed; /* by an output, and can be computed */
} EvalValue;

struct Eval {
    const Graph *g;
    EvalInput input;
    int64_t tokens;
    TokenList *list;  /* by number */
    EvalValue *value; /* by node id */
};

static void *eval_take(int64_t count) { return checked_new((size_t)count, sizeof(double)); }

/* What is computed: all that outputs need, but nothing that needs absent targets. */
static void plan_needed(Eval *ev) {
    const Graph *g = ev->g;
    for (int i = 0; i < g->nout; i++)
        ev->value[g->out[i].node->id].needed = true;
    for (int i = g->n; i-- > 0;) {
        if (ev->input.keep) ev->value[i].needed = true;
        for (int k = 0; ev->value[i].needed && k < g->node[i]->nin; k++)
            ev->value[g->node[i]->in[k]->id].needed = true;
    }
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (n->op == OP_targets && !ev->input.targets) ev->value[i].needed = false;
        for (int k = 0; k < n->nin; k++)
            if (!ev->value[n->in[k]->id].needed) ev->value[i].needed = false;
    }
}

static void plan_last_use(Eval *ev) {
    const Graph *g = ev->g;
    for (int i = 0; i < g->n; i++) {
        ev->value[i].last = ev->input.keep ? INT32_MAX : i;
        for (int k = 0; ev->value[i].needed && k < g->node[i]->nin; k++) {
            EvalValue *v = &ev->value[g->node[i]->in[k]->id];
            if (v->last < i) v->last = i;
        }
    }
    for (int i = 0; i < g->nout; i++)
        ev->value[g->out[i].node->id].last = INT32_MAX;
    for (int i = 0; i < g->n; i++) { /* a side's value belongs to its operand */
        if (op_info[g->node[i]->op].class != SIDE) continue;
        EvalValue *of = &ev->value[g->node[i]->in[0]->id];
        if (of->last < ev->value[i].last) of->last = ev->value[i].last;
    }
}

static bool is_side(const Node *n) { return op_info[n->op].class == SIDE; }

static double **results_of(const Eval *ev, const Node *n) {
    return is_side(n) ? ev->value[n->in[0]->id].result + n->attr->first : ev->value[n->id].result;
}

static void eval_drop(Eval *ev, const Node *n, int now) {
    const Node *owner = is_side(n) ? n->in[0] : n;
    EvalValue *v = &ev->value[owner->id];
    if (v->last != now) return;
    for (int r = 0; r < MAXRESULT; r++) {
        free(v->result[r]);
        v->result[r] = NULL;
    }
}

static int64_t value_count(const Eval *ev, const Node *n, const Shape *s) {
    int64_t count;
    if (!checked_size(s->lead == LEAD_TOKENS ? ev->list[s->list].count : 1, shape_count(s), &count))
        limit_hit("reference: expected a smaller value than %s for %lld tokens",
                  shape_text(n->g, s), (long long)ev->tokens);
    return count;
}

/* Ops without a slope, whose value a finite difference must not see move. */
static bool is_frozen(Op op) {
    return op == OP_stop_gradient || op == OP_step || op == OP_greater
        || op_info[op].result == RESULT_STEPS;
}

/* The list whose rows a node's operands are; its own where it has no such operand. */
static int eval_list_of(const Node *n) {
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]->shape.lead == LEAD_TOKENS) return n->in[k]->shape.list;
    return n->shape.lead == LEAD_TOKENS ? n->shape.list : 0;
}

static void make_list(Eval *ev, const Node *rows) {
    TokenList *l = &ev->list[rows->attr->count];
    const double *place = ev->value[rows->id].result[0];
    if (l->token) bug(rows, "makes a list that there is already");
    l->token = eval_take(ev->tokens + 1);
    for (int64_t t = 0; t < ev->tokens; t++)
        if (place[t] >= 0) l->token[l->count++] = t;
}

/* == What is computed, shown ============================================== */

/* Of an operand that such products are made of; NULL: it says which. */
static double *absolute(const Eval *ev, const Node *n, int k, const double *x) {
    const Node *operand = n->in[k];
    if (operand->shape.type != F32 || (k > 1 && op_info[n->op].class != CONTRACT)) return NULL;
    int64_t count = value_count(ev, operand, &operand->shape);
    double *y = eval_take(count);
    for (int64_t i = 0; i < count; i++)
        y[i] = fabs(x[i]);
    return y;
}

/* What the op makes of its operands' absolute values. */
static double *term_sizes(const Eval *ev, const EvalStep *step, int64_t count) {
    const Node *n = step->n;
    const double *in[4];
    double *own[4], *out[MAXRESULT] = { eval_take(count) };
    EvalStep again = *step;
    again.in = in, again.out = out;
    for (int k = 0; k < n->nin; k++) {
        own[k] = absolute(ev, n, k, step->in[k]);
        in[k] = own[k] ? own[k] : step->in[k];
    }
    op_eval[n->op](&again);
    for (int k = 0; k < n->nin; k++)
        free(own[k]);
    return out[0];
}

static void eval_show(const Eval *ev, const EvalStep *step) {
    const Node *n = step->n;
    for (int r = 0; r < op_info[n->op].results; r++) {
        int64_t count = value_count(ev, n, r ? &n->side[r] : &n->shape);
        double *size = !r && op_info[n->op].result == RESULT_PRODUCTS ? term_sizes(ev, step, count)
                                                                      : NULL;
        ev->input.computed(ev->input.user, n, step->out[r], size, count);
        free(size);
    }
}

/* == Nodes in order ======================================================= */

static void eval_run(Eval *ev, const Node *n, const double **in) {
    EvalValue *v = &ev->value[n->id];
    for (int k = 0; k < n->nin; k++)
        in[k] = *results_of(ev, n->in[k]);
    for (int r = 0; r < op_info[n->op].results; r++)
        v->result[r] = eval_take(value_count(ev, n, r ? &n->side[r] : &n->shape));
    if (ev->input.frozen && is_frozen(n->op)) {
        const double *from = eval_value(ev->input.frozen, n);
        if (!from) bug(n, "the frozen evaluation did not keep its value");
        for (int64_t i = 0, count = value_count(ev, n, &n->shape); i < count; i++)
            v->result[0][i] = from[i];
        return;
    }
    EvalStep step = { n,  &ev->input, ev->list[eval_list_of(n)].count, ev->tokens, ev->list,
                      in, v->result };
    op_eval[n->op](&step);
    if (ev->input.computed) eval_show(ev, &step);
    if (n->op == OP_rows) make_list(ev, n);
}

Eval *eval_new(const Graph *g, const EvalInput *in) {
    Eval *ev = checked_new(1, sizeof *ev);
    ev->g = g;
    ev->input = *in;
    if (in->batch < 1 || in->time < 1 || !checked_size(in->batch, in->time, &ev->tokens))
        bug(NULL, "%lld sequences of %lld tokens", (long long)in->batch, (long long)in->time);
    ev->value = checked_new((size_t)g->n + 1, sizeof *ev->value);
    ev->list = checked_new((size_t)graph_lists(g) + 1, sizeof *ev->list);
    const double **operand = checked_new((size_t)graph_most_operands(g) + 1, sizeof *operand);
    ev->list[0].count = ev->tokens;
    plan_needed(ev);
    plan_last_use(ev);
    for (int i = 0; i < g->n; i++) {
        Node *n = g->node[i];
        if (!ev->value[i].needed) continue;
        if (!is_side(n)) eval_run(ev, n, operand);
        for (int k = 0; k < n->nin; k++)
            eval_drop(ev, n->in[k], i);
        eval_drop(ev, n, i);
    }
    free(operand);
    return ev;
}

const double *eval_value(const Eval *ev, const Node *n) {
    return ev->value[n->id].needed ? *results_of(ev, n) : NULL;
}

void eval_free(Eval *ev) {
    if (!ev) return;
    for (int i = 0; i < ev->g->n; i++)
        for (int r = 0; r < MAXRESULT; r++)
            free(ev->value[i].result[r]);
    for (int i = graph_lists(ev->g); i > 0; i--)
        free(ev->list[i].token);
    free(ev->list);
    free(ev->value);
    free(ev);
}
