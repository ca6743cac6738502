/* SPDX-License-Identifier: MIT
** Routes against their dense forms: tests/routes/ writes each out for all tokens, with masks
** and no lists of rows.  Loss and the gradient of every parameter agree, of the interpreter to
** the rounding of float64, of a compiled model as any agrees with the interpreter.  And against
** finite differences, of every number that routers and gates are made of, where no decision
** changes.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "scratch_spec.h"
#include "twin_model.h"

enum { CONTEXT = 16, VOCAB = 13, SPEC = 2000, SEED = 77 };

/* Models with two routed layers in the middle: by the library's route, and by the dense one. */
typedef struct Pair {
    const char *residual, *attention;
    const char *routed;
    const char *dense, *same; /* the dense route; its options, the attention's among them */
} Pair;

static const Pair pairs[] = {
    { "standard {}", "rope = { theta = 100 }", "dtr {}", "dense_dtr", "theta = 100" },
    { "standard {}", "", "dtr { bypass = 'none' }", "dense_dtr", "bypass = 'none'" },
    { "haares { block_size = 2 }", "kv_heads = 2, rope = { theta = 100 }", "dtr { bias = false }",
      "dense_dtr", "kv_heads = 2, theta = 100, bias = false" },
    { "attnres { blocks = 2 }", "kv_heads = 1, qk_norm = true, bias = true", "dtr {}", "dense_dtr",
      "kv_heads = 1, qk_norm = true, projections = true" },
    { "attnres { blocks = 4 }", "kv_heads = 2",
      "dtr { choice = 'expert', capacity = 0.4, bypass = 'none' }", "dense_dtr",
      "kv_heads = 2, choice = 'expert', capacity = 0.4, bypass = 'none'" },
    { "standard {}", "rope = { theta = 100 }", "dtr { choice = 'expert', capacity = 0.3 }",
      "dense_dtr", "theta = 100, choice = 'expert', capacity = 0.3" },
    { "standard {}", "", "dtr { choice = 'skip' }", "dense_dtr", "choice = 'skip'" },
    { "standard {}", "kv_heads = 2, rope = { theta = 100 }", "mod { capacity = 0.4 }", "dense_mod",
      "kv_heads = 2, theta = 100, capacity = 0.4" },
    { "standard {}", "qk_norm = true", "mod { capacity = 0.7, gate = 'sigmoid' }", "dense_mod",
      "qk_norm = true, capacity = 0.7, gate = 'sigmoid'" },
    { "standard {}", "rope = { theta = 100 }", "dllm { hidden = 6, target = 0.4, weight = 0.3 }",
      "dense_dllm", "theta = 100, hidden = 6, target = 0.4, weight = 0.3" },
    { "standard {}", "kv_heads = 2, bias = true", "dllm { hidden = 6, reserve = 0 }", "dense_dllm",
      "kv_heads = 2, projections = true, hidden = 6, reserve = 0" },
    { "standard {}", "kv_heads = 2, gate = { bias = true }", "dtr {}", "dense_dtr",
      "kv_heads = 2, gated = true" },
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static const Extent extents[] = { { 3, 14 }, { 2, 1 }, { 1, CONTEXT } };
enum { EXTENTS = sizeof extents / sizeof *extents };

/* == Models =============================================================== */

static void write_spec(const Pair *p, const char *route, char text[SPEC]) {
    snprintf(text, SPEC,
             "local function one(r) return layer { attention { heads = 4, %s }, mlp { hidden = 24 "
             "}, route = r } end\n"
             "return model { name = 'm', vocab = %d, context = %d, dim = 16, norm = rmsnorm { eps "
             "= 1e-5 }, residual = %s,\n"
             "  route_penalty = 0.3, layers = { one(), one(%s), one(%s), one() } }\n",
             p->attention, VOCAB, CONTEXT, p->residual, route, route);
}

static Model *load(void **state, const Pair *p, bool dense) {
    char text[SPEC], route[300];
    snprintf(route, sizeof route, "require '%s' { heads = 4, %s }", p->dense, p->same);
    write_spec(p, dense ? route : p->routed, text);
    return scratch_model(state, "%s", text);
}

/* The dense routes, beside the models that require them. */
static int set_up(void **state) {
    int status = scratch_setup(state);
    copy_routes(state,
                (const char *const[]){ "dense.lua", "dense_dtr.lua", "dense_mod.lua",
                                       "dense_dllm.lua", NULL });
    return status;
}

/* == The interpreter ====================================================== */

/* Which form of a model: of a training step or not, that generates or not, with random numbers or
** not. */
typedef struct DenseForm {
    double training, generating;
    uint64_t draw;
} DenseForm;
static const DenseForm forms[] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 1, 0, SEED } };

static Eval *evaluate(const Graph *g, const Case *c, const DenseForm *f) {
    EvalInput in = case_input(c);
    in.training = f->training, in.generating = f->generating, in.draw = f->draw;
    return eval_new(g, &in);
}

static double largest(const double *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

static double largest_gradient(const Eval *ev, const Graph *g) {
    double most = 0;
    for (int i = 0; i < g->nparam; i++) {
        const Node *p = g->param[i].node;
        most = fmax(most, largest(gradient_of(ev, g, p->attr->name), shape_count(&p->shape)));
    }
    return most;
}

static void expect_same(const char *route, const char *what, const double *got, const double *want,
                        int64_t count, double allowed) {
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= allowed))
            fail_msg("%s: %s: element %d is %.12g, expected %.12g", route, what, (int)i, got[i],
                     want[i]);
}

static void expect_same_evaluation(const Pair *p, const Case *c, const Eval *a, const Graph *routed,
                                   const Eval *b, const Graph *dense) {
    static const char *const output[] = { "logits", "loss", "cross_entropy" };
    for (int i = 0; i < 3; i++) {
        const double *want = eval_value(b, graph_find(dense, output[i]));
        int64_t count = i ? 1 : c->batch * c->time * VOCAB;
        expect_same(p->routed, output[i], eval_value(a, graph_find(routed, output[i])), want, count,
                    1e-9 * largest(want, count));
    }
    double most = largest_gradient(b, dense);
    for (int i = 0; i < routed->nparam; i++) {
        const Node *n = routed->param[i].node;
        int64_t count = shape_count(&n->shape);
        const double *want = gradient_of(b, dense, n->attr->name);
        expect_same(p->routed, n->attr->name, gradient_of(a, routed, n->attr->name), want, count,
                    1e-9 * fmax(largest(want, count), 1e-3 * most));
    }
}

static void interpreters_agree(void **state) {
    for (int i = 0; i < PAIRS; i++) {
        Model *routed = load(state, &pairs[i], false), *dense = load(state, &pairs[i], true);
        Graph *a = with_gradients(routed->graph), *b = with_gradients(dense->graph);
        for (int form = 0; form < 4; form++)
            for (int x = 0; x < EXTENTS; x++) {
                Case *c = compiled_case(routed->graph, (uint64_t)(1 + form + i), extents[x].batch,
                                        extents[x].time, VOCAB);
                Case *d = case_like(c, dense->graph);
                Eval *one = evaluate(a, c, &forms[form]), *two = evaluate(b, d, &forms[form]);
                expect_same_evaluation(&pairs[i], c, one, a, two, b);
                eval_free(one), eval_free(two);
                case_free(c), case_free(d);
            }
        graph_free(a), graph_free(b);
        spec_free(routed), spec_free(dense);
    }
}

/* == Compiled models ====================================================== */

/* A training step that draws, of which compiled_agrees knows nothing: the gradients. */
static void expect_drawn(Instance *r, const Pair *p, const Case *c, const Case *d) {
    Graph *g = with_gradients(d->g);
    Eval *want = evaluate(g, d, &(DenseForm){ 1, 0, SEED });
    strata_loss loss = { .struct_size = sizeof loss, .draw = SEED };
    free(gradients_of(r, c->tokens, c->targets, c->batch, c->time, &loss));
    double most = largest_gradient(want, g), expected = *eval_value(want, graph_find(g, "loss"));
    if (!(fabs(loss.loss - expected) <= 3e-5 * fmax(1, fabs(expected))))
        fail_msg("%s: the loss is %.9g, expected %.9g", p->routed, loss.loss, expected);
    for (int i = 0; i < c->g->nparam; i++) {
        const Node *n = c->g->param[i].node;
        int64_t count = shape_count(&n->shape);
        const double *to = gradient_of(want, g, n->attr->name);
        const float *from = instance_gradient(r, n->attr->name);
        double *got = calloc((size_t)count, sizeof *got);
        for (int64_t k = 0; k < count; k++)
            got[k] = from[k];
        expect_same(p->routed, n->attr->name, got, to, count,
                    5e-4 * fmax(largest(to, count), 1e-3 * most));
        free(got);
    }
    eval_free(want);
    graph_free(g);
}

static void compiled_models_agree(void **state) {
    for (int i = 0; i < PAIRS; i++) {
        char text[SPEC], path[SCRATCH_PATH], why[600];
        Built b;
        Model *dense = load(state, &pairs[i], true);
        write_spec(&pairs[i], pairs[i].routed, text);
        built_open(&b, scratch_path(state, "routed.lua", path), text,
                   &(CodegenOptions){ .cpu = "native", .passes.check = i % 2 });
        for (int x = 0; x < EXTENTS; x++) {
            Case *c = compiled_case(b.m->graph, (uint64_t)(20 + i), extents[x].batch,
                                    extents[x].time, VOCAB),
                 *d = case_like(c, dense->graph);
            Instance r;
            Expected e;
            expected_open(&e, d, op_info);
            instance_open(&r, &b.c, c->batch * c->time, 1 + x);
            instance_weights(&r, c);
            if (!compiled_agrees(&r, c, &e, why, sizeof why))
                fail_msg("%s: %s", pairs[i].routed, why);
            expect_drawn(&r, &pairs[i], c, d);
            instance_close(&r);
            expected_close(&e);
            case_free(c), case_free(d);
        }
        built_close(&b);
        spec_free(dense);
    }
}

/* == Finite differences =================================================== */

/* A loss, and whether its decisions are those of 'base'. */
static double loss_at(Graph *g, const EvalInput *how, const Eval *base) {
    EvalInput in = *how;
    Eval *own = NULL;
    in.keep = true;
    own = eval_new(g, &in); /* decides by itself */
    for (int i = 0; i < g->n; i++) {
        const Node *n = g->node[i];
        if (n->op != OP_rows) continue;
        const double *now = eval_value(own, n), *then = eval_value(base, n);
        for (int64_t t = 0; t < in.batch * in.time; t++)
            if (now[t] != then[t])
                fail_msg("a decision changed: the case is not away from boundaries");
    }
    eval_free(own);
    in.keep = false, in.frozen = base; /* what stop_gradient keeps */
    own = eval_new(g, &in);
    double loss = *eval_value(own, graph_find(g, "loss"));
    eval_free(own);
    return loss;
}

/* The slope along one number, of fourth order. */
static double slope(Graph *g, const EvalInput *in, const Eval *base, double *x) {
    const double h = 1e-4, keep = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = keep + h * (k < 2 ? k - 2 : k - 1);
        at[k] = loss_at(g, in, base);
    }
    *x = keep;
    return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
}

/* Every route takes some tokens and leaves others. */
static void expect_both(const Graph *g, const Eval *base, int64_t tokens) {
    for (int i = 0; i < g->n; i++) {
        int64_t taken = 0;
        for (int64_t t = 0; g->node[i]->op == OP_rows && t < tokens; t++)
            taken += eval_value(base, g->node[i])[t] >= 0;
        if (g->node[i]->op == OP_rows) assert_true(taken > 0 && taken < tokens);
    }
}

static bool decides(const char *name) {
    return strstr(name, ".router.") || strstr(name, ".predictor.");
}

static void routers_have_the_slopes_of_the_loss(void **state) {
    static const int some[] = { 0, 1, 2, 4, 7, 8 };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const Pair *p = &pairs[some[i]];
        static const char *const loss[] = { "loss", NULL };
        Model *m = load(state, p, false);
        Graph *forward = graph_extract(m->graph, loss), *g = with_gradients(m->graph);
        Case *c = compiled_case(m->graph, 6, 2, 9, VOCAB);
        EvalInput in = case_input(c), kept = in;
        kept.keep = true;
        Eval *ev = eval_new(g, &in), *base = eval_new(forward, &kept);
        double most = 0;
        expect_both(forward, base, c->batch * c->time);
        for (int k = 0; k < m->graph->nparam; k++) {
            const Node *n = m->graph->param[k].node;
            const double *got = gradient_of(ev, g, n->attr->name);
            for (int64_t e = 0; decides(n->attr->name) && e < shape_count(&n->shape);
                 e += 1 + shape_count(&n->shape) / 24) {
                double want = slope(forward, &in, base, &c->value[k][e]);
                if (!(fabs(got[e] - want) <= 1e-8))
                    fail_msg("%s: the gradient of %s, element %d, is %.12g, expected %.12g",
                             p->routed, n->attr->name, (int)e, got[e], want);
                most = fmax(most, fabs(want));
            }
        }
        assert_true(most > 1e-3);
        eval_free(ev), eval_free(base);
        graph_free(forward), graph_free(g);
        case_free(c);
        spec_free(m);
    }
}

/* All numbers at once: the other parameters too, of which a value projection has two paths. */
static void every_parameter_has_the_slope_of_the_loss(void **state) {
    for (int i = 0; i < PAIRS; i++) {
        Model *m = load(state, &pairs[i], false);
        Case *c = compiled_case(m->graph, 6, 2, 9, VOCAB);
        double error = case_gradient_error(c, op_info);
        if (!(error <= GRADIENT_TOLERANCE))
            fail_msg("%s: gradients are off by %g", pairs[i].routed, error);
        case_free(c);
        spec_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interpreters_agree),
        cmocka_unit_test(compiled_models_agree),
        cmocka_unit_test(routers_have_the_slopes_of_the_loss),
        cmocka_unit_test(every_parameter_has_the_slope_of_the_loss),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_teardown);
}
