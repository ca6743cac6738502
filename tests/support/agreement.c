/* SPDX-License-Identifier: MIT
** See agreement.h.  Tolerances of float32: a logit may be off by 3e-5 of the largest; a gradient
** by 5e-4 of its own largest entry or of a thousandth of the case's largest, whichever is more.
*/
#include "agreement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "plan.h"

/* == Expected values ====================================================== */

Case *compiled_case(Graph *g, uint64_t seed, int64_t batch, int64_t time, int vocab) {
    Case *c = case_new(g, seed, batch, time, vocab, -1, 1);
    for (int i = 0; i < g->nparam; i++) {
        const Shape *s = &g->param[i].node->shape;
        double scale = s->rank < 2 ? 1 : sqrt(3.0 / (double)s->dim[s->rank - 1]);
        for (int64_t k = 0; k < shape_count(s); k++)
            c->value[i][k] = (float)(scale * c->value[i][k]);
    }
    return c;
}

static Graph *with_gradients(const Graph *g, const OpInfo *rules) {
    static const char *const outputs[] = { "logits", "nll", "cross_entropy", "loss" };
    const char **name = calloc((size_t)g->nout + 5, sizeof *name);
    if (!name) abort();
    memcpy(name, outputs, sizeof outputs);
    for (int i = 0, n = 4; i < g->nout; i++)
        if (!strncmp(g->out[i].name, STATISTIC, strlen(STATISTIC))) name[n++] = g->out[i].name;
    Graph *own = graph_extract(g, name);
    free(name);
    pass_gradient_rules(own, rules);
    return own;
}

/* Whether its results are operands or whole numbers, which float32 does not round: a mask of ones
** that were nearly ones would be another mask where it is subtracted from one. */
static bool is_exact(Op op) {
    switch (op_info[op].class) {
    case SOURCE:
    case VIEW:
    case LOOKUP:
    case DRAW:
    case GATHER:
    case PICK:
    case CHOICE: return true; /* moved, not computed */
    default: break;
    }
    static const Op exact[] = { OP_neg, OP_relu,    OP_step,   OP_abs,          OP_max,
                                OP_min, OP_greater, OP_select, OP_stop_gradient };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (op == exact[i]) return true;
    return false;
}

/* As float32 may round what an operation computes, one way or the other, its functions with an
** error of an ulp; a sum is off by its terms' ulps, however little of them it leaves. */
static void round_computed(void *user, const Node *n, double *value, const double *size,
                           int64_t count) {
    const double ulp = 0x1p-23;
    Case *c = user;
    if (is_exact(n->op)) return;
    for (int64_t i = 0; i < count; i++)
        value[i] += (size ? size[i] : value[i]) * draw_uniform(&c->random, -ulp, ulp);
}

static Expected expected_of(Graph *g, const EvalInput *in) {
    return (Expected){ g, eval_new(g, in), { 3e-5, 5e-4 } };
}

static void evaluate(Expected *e, const Case *c, Graph *g, bool rounded) {
    EvalInput in = case_input(c);
    if (rounded) in.computed = round_computed;
    *e = expected_of(g, &in);
}

void expected_open(Expected *e, const Case *c, const OpInfo *rules) {
    evaluate(e, c, with_gradients(c->g, rules), false);
}

/* Simplified first, as in builds: which sums of products are one product's says what is rounded. */
static Graph *rounded(Graph *g) { return pass_precision(pass_simplify(g)); }

void expected_open_bf16(Expected *e, const Case *c) {
    evaluate(e, c, rounded(with_gradients(c->g, op_info)), false);
}

void expected_open_small(Expected *e, const Case *c, Small small) {
    int *bits = small_bits(c->g, NULL, small);
    evaluate(e, c, pass_small(with_gradients(c->g, op_info), c->g, bits), false);
    free(bits);
}

void expected_open_kept(Expected *e, const Case *c, int kept, bool bf16) {
    EvalInput in = case_input(c);
    in.decoding = kept == KEPT_Q8 || !bf16; /* keys that are rounded are those of caches */
    Graph *g = with_gradients(c->g, op_info);
    *e = expected_of(pass_cache(bf16 ? rounded(g) : g, kept), &in);
}

void expected_close(Expected *e) {
    eval_free(e->ev);
    graph_free(e->g);
}

static const double *expected(const Expected *e, const char *output) {
    const Node *n = graph_find(e->g, output);
    return n ? eval_value(e->ev, n) : NULL;
}

/* == Comparing ============================================================ */

static double largest(const double *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; x && i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* 'want' NULL: zeros */
static bool close_to(const char *what, const float *got, const double *want, int64_t count,
                     double allowed, char *why, size_t size) {
    for (int64_t i = 0; i < count; i++) {
        double w = want ? want[i] : 0;
        if (fabs(got[i] - w) <= allowed) continue;
        snprintf(why, size, "%s: element %lld of %lld is %.9g, expected %.9g, within %.1e", what,
                 (long long)i, (long long)count, got[i], w, allowed);
        return false;
    }
    return true;
}

static bool logits_agree(Instance *r, const Case *c, const Expected *e, char *why, size_t size) {
    const strata_api *a = &r->c->api;
    int64_t count = c->batch * c->time * r->c->model->vocab;
    const double *want = expected(e, "logits");
    Guarded out;
    guarded_open(&out, (size_t)count * sizeof(float));
    int status = a->logits(r->ctx.at, r->weights.at, r->arena.at, c->tokens, c->batch, c->time,
                           out.at);
    if (status) snprintf(why, size, "logits: %s", a->message(r->ctx.at));
    bool good = !status
        && close_to("logits", out.at, want, count, e->allowed.value * largest(want, count), why,
                    size);
    guarded_close(&out);
    return good;
}

static bool loss_agrees(const char *what, const strata_loss *got, const Expected *e, char *why,
                        size_t size) {
    double loss = *expected(e, "loss"), nll = *expected(e, "cross_entropy"),
           allowed = e->allowed.value;
    if (fabs(got->loss - loss) <= allowed * fmax(1, fabs(loss))
        && fabs(got->cross_entropy - nll) <= allowed * fmax(1, fabs(nll)))
        return true;
    snprintf(why, size, "%s: loss %.9g and cross entropy %.9g, expected %.9g and %.9g", what,
             got->loss, got->cross_entropy, loss, nll);
    return false;
}

static bool losses_agree(Instance *r, const Case *c, const Expected *e, char *why, size_t size) {
    const strata_api *a = &r->c->api;
    int64_t count = c->batch * c->time;
    const double *want = expected(e, "nll");
    strata_loss loss = { .struct_size = sizeof loss };
    Guarded nll;
    guarded_open(&nll, (size_t)count * sizeof(float));
    int status = a->loss(r->ctx.at, r->weights.at, r->arena.at, c->tokens, c->targets, c->batch,
                         c->time, nll.at, &loss);
    if (status) snprintf(why, size, "loss: %s", a->message(r->ctx.at));
    bool good = !status
        && close_to("nll", nll.at, want, count, e->allowed.value * fmax(1, largest(want, count)),
                    why, size)
        && loss_agrees("loss", &loss, e, why, size);
    guarded_close(&nll);
    return good;
}

static const double *expected_gradient(const Expected *e, const Node *param) {
    char output[600];
    snprintf(output, sizeof output, "grad.%s", param->attr->name);
    return expected(e, output);
}

static double largest_gradient(const Case *c, const Expected *e) {
    double most = 0;
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        if (p->attr->buffer) continue; /* what is summed for it is no gradient */
        most = fmax(most, largest(expected_gradient(e, p), shape_count(&p->shape)));
    }
    return most;
}

static bool gradients_agree(Instance *r, const Case *c, const Expected *e, char *why, size_t size) {
    const strata_api *a = &r->c->api;
    strata_loss loss = { .struct_size = sizeof loss };
    int status = a->forward_backward(r->ctx.at, r->weights.at, r->train.at, r->arena.at, c->tokens,
                                     c->targets, c->batch, c->time, 1, 0, NULL, NULL, &loss);
    if (status) return snprintf(why, size, "forward_backward: %s", a->message(r->ctx.at)), false;
    if (!loss_agrees("forward_backward", &loss, e, why, size)) return false;
    double most = largest_gradient(c, e);
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        const double *want = expected_gradient(e, p);
        char what[600];
        int64_t count = shape_count(&p->shape);
        snprintf(what, sizeof what, "gradient of %s", p->attr->name);
        double allowed = e->allowed.gradient * fmax(largest(want, count), 1e-3 * most);
        if (!close_to(what, instance_gradient(r, p->attr->name), want, count, allowed, why, size))
            return false;
    }
    return true;
}

bool compiled_agrees(Instance *r, const Case *c, const Expected *e, char *why, size_t size) {
    return logits_agree(r, c, e, why, size) && losses_agree(r, c, e, why, size)
        && (!r->c->model->training || gradients_agree(r, c, e, why, size));
}

/* == Graphs =============================================================== */

static double moved(const Expected *a, const Expected *b, const char *output, int64_t count) {
    const double *x = expected(a, output), *y = expected(b, output);
    double most = 0;
    for (int64_t i = 0; x && i < count; i++)
        if (!(fabs(x[i] - y[i]) <= most)) most = isnan(x[i]) ? INFINITY : fabs(x[i] - y[i]);
    return most;
}

static double gradients_moved(const Case *c, const Expected *a, const Expected *b) {
    double most = largest_gradient(c, a), share = 0;
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *p = c->g->param[i].node;
        char output[600];
        int64_t count = shape_count(&p->shape);
        snprintf(output, sizeof output, "grad.%s", p->attr->name);
        double own = fmax(largest(expected_gradient(a, p), count), 1e-3 * most);
        if (own > 0) share = fmax(share, moved(a, b, output, count) / own);
    }
    return share;
}

static double values_moved(const Case *c, const Expected *a, const Expected *b) {
    int64_t tokens = c->batch * c->time, logits = tokens * graph_find(c->g, "logits")->shape.dim[0];
    const double *nll = expected(a, "nll");
    double of_logits = moved(a, b, "logits", logits) / largest(expected(a, "logits"), logits),
           of_nll = moved(a, b, "nll", tokens) / fmax(1, largest(nll, tokens)),
           of_loss = moved(a, b, "loss", 1) / fmax(1, fabs(*expected(a, "loss")));
    return fmax(of_logits, fmax(of_nll, of_loss));
}

/* The case with parameters moved by 'share' of themselves at most, and with random numbers of its
** own: what float32 makes of a tie is another choice in some of many. */
static Case *nearby(Case *c, double share) {
    uint64_t seed = (uint64_t)draw_uniform(&c->random, 1, 1e15);
    Case *near = case_new(c->g, seed, c->batch, c->time, 1, 0, 0);
    size_t ids = (size_t)(c->batch * c->time) * sizeof *c->tokens;
    memcpy(near->tokens, c->tokens, ids);
    memcpy(near->targets, c->targets, ids);
    for (int i = 0; i < c->g->nparam; i++)
        for (int64_t k = 0; k < shape_count(&c->g->param[i].node->shape); k++)
            near->value[i][k] = c->value[i][k] * (1 + draw_uniform(&c->random, -share, share));
    return near;
}

/* Of a choice that is nearly a tie each round has an even chance to make the other one. */
Allowed case_moves(Case *c, const Expected *e, double share, bool bf16) {
    enum { ROUNDS = 10 };
    Allowed most = { 0, 0 };
    for (int round = 0; round < ROUNDS; round++) {
        Case *near = nearby(c, share);
        Expected other;
        if (bf16) expected_open_bf16(&other, near);
        else evaluate(&other, near, with_gradients(c->g, op_info), true);
        most.value = fmax(most.value, values_moved(c, e, &other));
        most.gradient = fmax(most.gradient, gradients_moved(c, e, &other));
        expected_close(&other);
        case_free(near);
    }
    return most;
}

/* Equal terms, added one after another, are rounded the same way each time. */
double case_rounding(int64_t terms) { return fmax(1e-6, 3e-8 * (double)terms); }

bool case_is_shaky(Case *c, const Expected *e, int64_t terms) {
    Allowed moves = case_moves(c, e, case_rounding(terms), false);
    return moves.value > 1.5e-5 || moves.gradient > 2.5e-4;
}

static Answer extent_answer(const Compiled *m, Graph *g, uint64_t seed, Extent x, char *why,
                            size_t size) {
    char inner[512];
    Case *c = compiled_case(g, seed, x.batch, x.time, m->model->vocab);
    Expected e;
    Instance r;
    expected_open(&e, c, op_info);
    instance_open(&r, m, x.batch * x.time, 1);
    instance_weights(&r, c);
    bool good = compiled_agrees(&r, c, &e, inner, sizeof inner);
    if (!good)
        snprintf(why, size, "batch %lld, time %lld: %s", (long long)x.batch, (long long)x.time,
                 inner);
    Answer answer = good ? AGREES : case_is_shaky(c, &e, 1) ? SHAKY : DIFFERS;
    instance_close(&r);
    expected_close(&e);
    case_free(c);
    return answer;
}

Answer graph_answer(Graph *g, uint64_t seed, const CodegenOptions *o, const Extent *extent,
                    char *why, size_t size) {
    int64_t context = 1;
    for (const Extent *x = extent; x->batch; x++)
        context = x->time > context ? x->time : context;
    ModelInfo info = compiled_info(g, context);
    Compiled c;
    Answer answer = AGREES;
    compiled_open(&c, g, &info, o);
    for (const Extent *x = extent; answer == AGREES && x->batch; x++)
        answer = extent_answer(&c, g, seed, *x, why, size);
    compiled_close(&c);
    graph_free(g);
    return answer;
}

typedef struct Unit {
    Graph *g;
    const CodegenOptions *options;
    const Extent *extent;
} Unit;

static int run_unit(void *arg) {
    const Unit *u = arg;
    char why[700] = "";
    Answer answer = graph_answer(u->g, 7, u->options, u->extent, why, sizeof why);
    if (answer == AGREES) return 0;
    fprintf(stderr, "%s\n", why);
    return 1 + answer;
}

int graph_status(Graph *g, const CodegenOptions *o, const Extent *extent) {
    int status = apart(run_unit, &(Unit){ g, o, extent });
    graph_free(g);
    return status;
}
