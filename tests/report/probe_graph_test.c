/* SPDX-License-Identifier: MIT
** The probe's graph gives what the model's own reads and sources are.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_result.h"
#include "random.h"
#include "scratch_spec.h"

enum { VOCAB = 16, DIM = 24, LAYERS = 3, SUBLAYERS = 2 * LAYERS, NODES = 1 << 16 };

static Model *routed_model(void **state, const char *residual, const char *route) {
    return scratch_model(state,
                         "return model { name = 'm', vocab = %d, context = 8, dim = %d, norm = "
                         "rmsnorm {}, residual = %s,\n"
                         "  layers = times(%d, layer { attention { heads = 3 }, mlp { hidden = 16, "
                         "activation = 'relu' }, route = %s }) }\n",
                         VOCAB, DIM, residual, LAYERS, route);
}

static Model *model_of(void **state, const char *residual) {
    return routed_model(state, residual, "nil");
}

/* == The graph: directions that are the sources give what reads are ======= */

/* Values of parameters by name: the probe's inputs as told, the rest random. */
typedef struct Values {
    const double *keep, *codes, *direction;
    const char *zero; /* parameters whose name begins so are 0; NULL: none */
    double *own[NODES];
} Values;

static const double *value_of(void *user, const Node *p) {
    Values *v = user;
    const char *name = p->attr->name;
    int s;
    if (sscanf(name, "probe.keep.%d", &s) == 1) return v->keep + s;
    if (!strcmp(name, "probe.codes.0")) return v->codes;
    if (sscanf(name, "probe.direction.%d", &s) == 1) return v->direction + s * DIM;
    assert_true(p->id < NODES);
    if (v->own[p->id]) return v->own[p->id];
    int64_t count = shape_count(&p->shape);
    double *d = v->own[p->id] = calloc((size_t)count, sizeof *d);
    float *f = malloc((size_t)count * sizeof *f);
    random_normal(5, random_stream(name), 0, count, 0.4, f);
    for (int64_t i = 0; i < count && !(v->zero && !strncmp(name, v->zero, strlen(v->zero))); i++)
        d[i] = f[i];
    free(f);
    return d;
}

static void values_free(Values *v) {
    for (int i = 0; i < NODES; i++)
        free(v->own[i]);
    memset(v->own, 0, sizeof v->own);
}

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

typedef struct One {
    Values v;
    double keep[SUBLAYERS + 1], codes[PROBE_CODES * DIM], direction[(SUBLAYERS + 1) * DIM];
} One;

static void open_one(One *x) {
    memset(x, 0, sizeof *x);
    for (int i = 0; i <= SUBLAYERS; i++)
        x->keep[i] = 1;
    for (int i = 0; i < PROBE_CODES * DIM; i++)
        x->codes[i] = random_uniform(3, 0, (uint64_t)i) < 0.5 ? -1 : 1;
    x->v.keep = x->keep, x->v.codes = x->codes, x->v.direction = x->direction;
}

static const char *const residuals[] = {
    "standard {}",
    "rezero {}",
    "layerscale {}",
    "highway {}",
    "highway { gate = 'scalar' }",
    "denseformer { period = 2 }",
    "attnres { full = true }",
    "attnres { blocks = 3, heads = 3 }",
    "attnres { blocks = 3, kernel = 'linear' }",
    "attnres { blocks = 3, kernel = 'sigmoid', query = 'input' }",
    "attnres { full = true, window = 3 }",
    "haares { blocks = 2 }",
    "haares { blocks = 3, bias = 0.5, rms_match = false }",
    "hyper { streams = 3, dynamic = false }",
    "hyper { streams = 2 }",
    "mhc { streams = 3 }",
    "mhc { streams = 3, lite = true }",
    "gated_residual { streams = 3, rank = 4 }",
};

enum { RESIDUALS = sizeof residuals / sizeof *residuals };

/* Routes of whole layers here take the only token. */
static const struct {
    const char *residual, *route;
} routed[] = {
    { "standard {}", "mod { capacity = 1 }" },
    { "rezero {}", "mod { capacity = 0.1, gate = 'sigmoid' }" },
    { "highway {}", "dllm { hidden = 6, reserve = 1 }" },
    { "haares { blocks = 2 }", "dtr {}" },
    { "attnres { full = true }", "dtr { bypass = 'none' }" },
    { "hyper { streams = 2 }", "dtr { choice = 'skip' }" },
};
enum { ROUTED = sizeof routed / sizeof *routed };

/* What the probe tells of one token is what 'model', an evaluation that kept all, has. */
static void expect_followed(const One *x, Model *m, const Eval *model, const EvalInput *in,
                            const char *what) {
    ProbeGraph p = probe_graph(m);
    Graph *g = p.graph;
    Eval *probe = eval_new(g, in);
    expect_near(*eval_value(probe, graph_find(g, "nll")),
                *eval_value(model, graph_find(m->graph, "nll")), 1e-12, what, -1);
    for (int s = 0; s < m->nsource; s++) {
        const double *f = x->direction + s * DIM;
        expect_near(*probe_result(&p, probe, RESULT_SOURCE, s), dot(f, f, DIM) / DIM, 1e-12,
                    "source", s);
    }
    for (int r = 0; r < m->nread; r++) {
        const double *h = eval_value(model, m->read[r].result),
                     *told = probe_result(&p, probe, RESULT_READ, r);
        assert_non_null(told);
        expect_near(told[0], dot(h, h, DIM) / DIM, 1e-12, "read", r);
        for (int c = 0; c < PROBE_CODES; c++) {
            double along = dot(x->codes + c * DIM, h, DIM) / DIM;
            expect_near(told[1 + c], along, 1e-10, what, r);
            expect_near(told[1 + PROBE_CODES + c], along * along, 1e-10, what, r);
        }
    }
    eval_free(probe);
    graph_free(g);
}

/* One token: every value is its own mean. */
static void reads_are_followed(void **state) {
    static const int32_t token[] = { 5 }, target[] = { 7 };
    for (int i = 0; i < RESIDUALS + ROUTED; i++) {
        const char *what = i < RESIDUALS ? residuals[i] : routed[i - RESIDUALS].route;
        One *x = malloc(sizeof *x);
        open_one(x);
        Model *m = i < RESIDUALS ? model_of(state, what)
                                 : routed_model(state, routed[i - RESIDUALS].residual, what);
        EvalInput in = { .batch = 1,
                         .time = 1,
                         .tokens = token,
                         .targets = target,
                         .param = value_of,
                         .user = &x->v,
                         .seed = 1,
                         .keep = true };
        Eval *model = eval_new(m->graph, &in);
        for (int s = 0; s < m->nsource; s++)
            memcpy(x->direction + s * DIM, eval_value(model, m->source[s]), DIM * sizeof(double));
        values_free(&x->v);
        expect_followed(x, m, model, &in, what);
        eval_free(model);
        values_free(&x->v);
        spec_free(m);
        free(x);
    }
}

/* A layer that is left out is one whose weights are 0. */
static void a_layer_is_left_out(void **state) {
    static const int32_t token[] = { 5, 1, 9 }, target[] = { 1, 9, 2 };
    One *x = malloc(sizeof *x);
    open_one(x);
    Model *m = model_of(state, "standard {}");
    ProbeGraph p = probe_graph(m);
    Graph *g = p.graph;
    EvalInput in = { .batch = 1,
                     .time = 3,
                     .tokens = token,
                     .targets = target,
                     .param = value_of,
                     .user = &x->v,
                     .seed = 1 };
    x->keep[3] = x->keep[4] = 0;
    Eval *probe = eval_new(g, &in);
    values_free(&x->v);
    x->v.zero = "layers.1.";
    Eval *model = eval_new(m->graph, &in);
    for (int t = 0; t < 3; t++)
        expect_near(eval_value(probe, graph_find(g, "nll"))[t],
                    eval_value(model, graph_find(m->graph, "nll"))[t], 1e-12, "token", t);
    expect_near(*probe_result(&p, probe, RESULT_SOURCE, 3) > 1e-3, 1, 0, "the output is still told",
                3);
    eval_free(probe), eval_free(model);
    values_free(&x->v);
    graph_free(g);
    spec_free(m);
    free(x);
}

static void gates_have_places(void **state) {
    Model *m = model_of(state, "highway {}");
    ProbeGraph p = probe_graph(m);
    int gates = 0;
    for (int i = 0; i < p.nresult; i++) {
        const char *site = p.result[i].site;
        if (p.result[i].kind != RESULT_GATE) continue;
        gates++;
        if (!strstr(site, "layers.") || !strstr(site, "highway.lua:"))
            fail_msg("expected the sublayer and the Lua line, found %s", site);
    }
    assert_true(gates >= SUBLAYERS);
    graph_free(p.graph);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_are_followed, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_layer_is_left_out, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(gates_have_places, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
