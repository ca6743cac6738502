/* SPDX-License-Identifier: MIT
** Finite differences of fourth order at three step sizes: a step that crosses
** a kink (relu at 0) disagrees at that size only, a wrong gradient at all.
*/
#include "numeric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"

/* == Random numbers ======================================================= */

double draw_uniform(Random *r, double low, double high) {
    uint64_t x = r->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return low + (high - low) * (double)(x >> 11) / 9007199254740992.0;
}

int draw_below(Random *r, int count) { return (int)draw_uniform(r, 0, count); }

/* == Inputs =============================================================== */

static void *take(int64_t count, size_t size) {
    void *p = calloc(count ? (size_t)count : 1, size);
    if (!p) abort();
    return p;
}

static int32_t *random_ids(Case *c, int vocab) {
    int32_t *ids = take(c->batch * c->time, sizeof *ids);
    for (int64_t i = 0; i < c->batch * c->time; i++)
        ids[i] = draw_below(&c->random, vocab);
    return ids;
}

Case *case_new(Graph *g, uint64_t seed, int64_t batch, int64_t time, int vocab, double low,
               double high) {
    Case *c = take(1, sizeof *c);
    *c = (Case){ .g = g, .batch = batch, .time = time, .random = { seed } };
    c->tokens = random_ids(c, vocab);
    c->targets = random_ids(c, vocab);
    c->value = take(g->nparam, sizeof *c->value);
    for (int i = 0; i < g->nparam; i++) {
        int64_t count = shape_count(&g->param[i].node->shape);
        c->value[i] = take(count, sizeof **c->value);
        for (int64_t k = 0; k < count; k++)
            c->value[i][k] = (float)draw_uniform(&c->random, low, high);
    }
    return c;
}

void case_free(Case *c) {
    for (int i = 0; i < c->g->nparam; i++)
        free(c->value[i]);
    free(c->value);
    free(c->tokens);
    free(c->targets);
    free(c);
}

static const double *value_of(void *user, const Node *param) {
    const Case *c = user;
    for (int i = 0; i < c->g->nparam; i++)
        if (!strcmp(c->g->param[i].node->attr->name, param->attr->name)) return c->value[i];
    return NULL;
}

EvalInput case_input(const Case *c) {
    return (EvalInput){ .batch = c->batch,
                        .time = c->time,
                        .tokens = c->tokens,
                        .targets = c->targets,
                        .param = value_of,
                        .user = (void *)c,
                        .seed = 1 };
}

/* == Finite differences =================================================== */

static double loss_of(Graph *forward, const EvalInput *in) {
    Eval *ev = eval_new(forward, in);
    double loss = eval_value(ev, graph_find(forward, "loss"))[0];
    eval_free(ev);
    return loss;
}

/* The loss with parameter i moved by h along 'direction'. */
static double moved(Case *c, Graph *forward, const EvalInput *in, int i, const double *direction,
                    double h) {
    int64_t count = shape_count(&c->g->param[i].node->shape);
    double *keep = c->value[i], *now = take(count, sizeof *now);
    for (int64_t k = 0; k < count; k++)
        now[k] = keep[k] + h * direction[k];
    c->value[i] = now;
    double loss = loss_of(forward, in);
    c->value[i] = keep;
    free(now);
    return loss;
}

static double slope(Case *c, Graph *forward, const EvalInput *in, int i, const double *direction,
                    double h) {
    double near = moved(c, forward, in, i, direction, h) - moved(c, forward, in, i, direction, -h);
    double far = moved(c, forward, in, i, direction, 2 * h)
        - moved(c, forward, in, i, direction, -2 * h);
    return (8 * near - far) / (12 * h);
}

static double param_error(Case *c, Graph *forward, const EvalInput *in, int i,
                          const double *gradient, double loss) {
    static const double step[] = { 1e-3, 1e-4, 1e-5, 1e-6, 1e-7 };
    int64_t count = shape_count(&c->g->param[i].node->shape);
    double *direction = take(count, sizeof *direction), got = 0, size = 0, best = INFINITY;
    for (int64_t k = 0; k < count; k++) {
        direction[k] = draw_uniform(&c->random, -1, 1);
        got += direction[k] * gradient[k];
        size += fabs(direction[k] * gradient[k]);
    }
    for (size_t s = 0; s < sizeof step / sizeof *step && !(best <= GRADIENT_TOLERANCE); s++) {
        double want = slope(c, forward, in, i, direction, step[s]);
        double error = fabs(got - want) / (size + fabs(want) + 1e-4 * (1 + fabs(loss)));
        if (error < best || isnan(error)) best = isnan(error) ? INFINITY : error;
    }
    free(direction);
    return best;
}

double case_gradient_error(Case *c, const OpInfo *rules) {
    const char *loss[] = { "loss", NULL };
    Graph *forward = graph_extract(c->g, loss), *both = graph_extract(c->g, loss);
    EvalInput in = case_input(c);
    double worst = 0;
    pass_gradient_rules(both, rules);
    graph_verify(both);
    Eval *gradients = eval_new(both, &in);
    in.keep = true;
    Eval *base = eval_new(forward, &in);
    in.keep = false;
    in.frozen = base;
    double at = eval_value(base, graph_find(forward, "loss"))[0];
    for (int i = 0; i < c->g->nparam; i++) {
        const char *name = c->g->param[i].node->attr->name;
        if (c->g->param[i].node->attr->buffer) continue;
        const char *output = graph_string(both, name);
        for (int k = 0; k < both->nout; k++) {
            if (strncmp(both->out[k].name, "grad.", 5) || strcmp(both->out[k].name + 5, output))
                continue;
            double error = param_error(c, forward, &in, i, eval_value(gradients, both->out[k].node),
                                       at);
            if (!(error <= worst)) worst = error;
        }
    }
    eval_free(base);
    eval_free(gradients);
    graph_free(forward);
    graph_free(both);
    return worst;
}

/* == Wrong rules ========================================================== */

static void spoil(Node *n, Node **dy, Node **dx, int operand) {
    op_info[n->op].vjp(n, dy, dx);
    if (operand < n->nin && dx[operand]) dx[operand] = op_scale(dx[operand], 1.001);
}

static void spoil_0(Node *n, Node **dy, Node **dx) { spoil(n, dy, dx, 0); }
static void spoil_1(Node *n, Node **dy, Node **dx) { spoil(n, dy, dx, 1); }
static void spoil_2(Node *n, Node **dy, Node **dx) { spoil(n, dy, dx, 2); }

void wrong_rules(OpInfo *rules, Op op, int operand) {
    memcpy(rules, op_info, NOP * sizeof *rules);
    rules[op].vjp = operand == 0 ? spoil_0 : operand == 1 ? spoil_1 : spoil_2;
}

bool needs_positive(Op op) {
    Graph *g = graph_new();
    bool finite = true;
    static const double at[] = { 0, -1 };
    for (int i = 0; i < 2; i++) {
        const char *error;
        Node *x = op_fill(g, at[i]), *in[] = { x, x, x };
        graph_output(g, "y", node_new(g, op, op_info[op].arity, in, (Attr){ 0 }, &error));
        Eval *ev = eval_new(g, &(EvalInput){ .batch = 1, .time = 1 });
        finite &= isfinite(eval_value(ev, graph_find(g, "y"))[0]);
        eval_free(ev);
    }
    graph_free(g);
    return !finite;
}

/* == Losses =============================================================== */

Node *sum_all(Node *y) { return op_fit(y, &(Shape){ 0 }); }

/* A constant for each element, from a few fills: rows of a stack. */
static Node *random_constant(Graph *g, const Shape *s, Random *r) {
    Shape row = { .lead = LEAD_NONE, .rank = 1, .dim = { 1 } }, inner = *s;
    int64_t count = shape_count(s);
    Node **part = graph_alloc(g, (size_t)count * sizeof *part);
    inner.lead = LEAD_NONE;
    for (int64_t i = 0; i < count; i++)
        part[i] = op_full(g, &row, (float)draw_uniform(r, -1, 1));
    return op_reshape(op_concat(g, (int)count, part, 0), &inner);
}

Node *weighted_sum(Node *y, Random *r) {
    return sum_all(op_mul(y, random_constant(y->g, &y->shape, r)));
}
