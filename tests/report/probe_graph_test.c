/*
** The probe: its graph gives what the model's own reads and sources are, and a program's
** 'probe' says the same of its weights as the float64 interpreter.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradient.h"
#include "json.h"
#include "probe_graph.h"
#include "program_run.h"
#include "random.h"
#include "safetensors.h"
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
    const char *name = p->attr.name;
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

static const double *result(const ProbeGraph *g, const Eval *ev, ProbeKind kind, int index) {
    for (int i = 0; i < g->nresult; i++)
        if (g->result[i].kind == kind && g->result[i].index == index)
            return eval_value(ev, g->graph->out[i].node);
    return NULL;
}

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void near(double found, double expected, double tolerance, const char *what, int index) {
    if (!(fabs(found - expected) <= tolerance * (1 + fabs(expected))))
        fail_msg("%s %d: expected %.9g, found %.9g", what, index, expected, found);
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
    near(*eval_value(probe, graph_find(g, "nll")), *eval_value(model, graph_find(m->graph, "nll")),
         1e-12, what, -1);
    for (int s = 0; s < m->nsource; s++) {
        const double *f = x->direction + s * DIM;
        near(*result(&p, probe, RESULT_SOURCE, s), dot(f, f, DIM) / DIM, 1e-12, "source", s);
    }
    for (int r = 0; r < m->nread; r++) {
        const double *h = eval_value(model, m->read[r].result),
                     *told = result(&p, probe, RESULT_READ, r);
        assert_non_null(told);
        near(told[0], dot(h, h, DIM) / DIM, 1e-12, "read", r);
        for (int c = 0; c < PROBE_CODES; c++) {
            double along = dot(x->codes + c * DIM, h, DIM) / DIM;
            near(told[1 + c], along, 1e-10, what, r);
            near(told[1 + PROBE_CODES + c], along * along, 1e-10, what, r);
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
        near(eval_value(probe, graph_find(g, "nll"))[t],
             eval_value(model, graph_find(m->graph, "nll"))[t], 1e-12, "token", t);
    near(*result(&p, probe, RESULT_SOURCE, 3) > 1e-3, 1, 0, "the output is still told", 3);
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

/* == The program ========================================================== */

enum { CONTEXT = 16, WIDTH = 32 };

static const char spec[] =
    "return model { name = 'probed', vocab = 256, context = 16, dim = 32, tokenizer = 'bytes', "
    "norm = rmsnorm { eps = 1e-6 },\n"
    "  residual = attnres { full = true }, train = { optimizer = adamw { lr = 2e-2 } },\n"
    "  layers = times(2, layer { attention { heads = 4, rope = { theta = 10000 } }, mlp { hidden = "
    "40, activation = 'swiglu' } }) }\n";
static const char text[] = "to be or not to "; /* and one more: a window */

static Folder folder;

static void run(const char *words) { folder_shell(&folder, words); }

static int open_folder(void **state) {
    (void)state;
    folder_open(&folder);
    folder_write(&folder, "probed.lua", spec, sizeof spec - 1);
    folder_write(&folder, "text", text, sizeof text);
    run("strata build probed.lua");
    run("./probed train --data text --steps 0 --out first");
    run("./probed train --data text --steps 6 --batch 1 --out last");
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

typedef struct Loaded {
    Model *m;
    ProbeGraph p;
    Graph *g;
    Safetensors file;
    double *own[NODES];
    double *keep, *codes, *direction;
} Loaded;

static const double *loaded_value(void *user, const Node *p) {
    Loaded *x = user;
    Error e = { 0 };
    const char *name = p->attr.name;
    int s;
    if (sscanf(name, "probe.keep.%d", &s) == 1) return x->keep + s;
    if (!strcmp(name, "probe.codes.0")) return x->codes;
    if (sscanf(name, "probe.direction.%d", &s) == 1) return x->direction + s * WIDTH;
    const Tensor *t = safetensors_find(&x->file, name);
    if (!t) fail_msg("no tensor %s", name);
    if (!x->own[p->id]) {
        x->own[p->id] = malloc((size_t)t->count * sizeof(double));
        assert_int_equal(safetensors_read_f64(&x->file, t, x->own[p->id], &e), 0);
    }
    return x->own[p->id];
}

static void loaded_open(Loaded *x, const char *weights) {
    char path[256];
    Error error;
    Error e = { 0 };
    memset(x, 0, sizeof *x);
    snprintf(path, sizeof path, "%s/probed.lua", folder.path);
    x->m = spec_load(path, NULL, &error);
    assert_non_null(x->m);
    x->p = probe_graph(x->m);
    x->g = x->p.graph;
    snprintf(path, sizeof path, "%s/%s", folder.path, weights);
    assert_int_equal(safetensors_open(&x->file, path, &e), 0);
    x->keep = malloc((size_t)x->m->nsource * sizeof(double));
    x->codes = calloc(PROBE_CODES * WIDTH, sizeof(double));
    x->direction = calloc((size_t)x->m->nsource * WIDTH, sizeof(double));
    for (int s = 0; s < x->m->nsource; s++)
        x->keep[s] = 1;
}

static void loaded_forget(Loaded *x) {
    for (int i = 0; i < NODES; i++)
        free(x->own[i]), x->own[i] = NULL;
}

static void loaded_close(Loaded *x) {
    loaded_forget(x);
    graph_free(x->g);
    spec_free(x->m);
    safetensors_close(&x->file);
    free(x->keep), free(x->codes), free(x->direction);
}

static Eval *evaluate(Loaded *x, const Graph *g) {
    static int32_t token[CONTEXT], target[CONTEXT];
    for (int i = 0; i < CONTEXT; i++)
        token[i] = text[i], target[i] = text[i + 1];
    loaded_forget(x);
    return eval_new(g,
                    &(EvalInput){ .batch = 1,
                                  .time = CONTEXT,
                                  .tokens = token,
                                  .targets = target,
                                  .param = loaded_value,
                                  .user = x,
                                  .seed = 1 });
}

static double mean_nll(const Eval *ev, const Graph *g) {
    double sum = 0;
    for (int t = 0; t < CONTEXT; t++)
        sum += eval_value(ev, graph_find(g, "nll"))[t];
    return sum / CONTEXT;
}

static double number(const Json *j, const JsonNode *in, const char *key, int row, int column) {
    const JsonNode *n = json_member(j, in, key);
    double value = NAN;
    if (n && row >= 0)
        for (n = json_first(j, n); n && row--; n = json_next(j, n)) {
        }
    if (n && column >= 0)
        for (n = json_first(j, n); n && column--; n = json_next(j, n)) {
        }
    if (!n || !json_double(n, &value)) fail_msg("expected a number in '%s'", key);
    return value;
}

/* Weights along code 0, that source s alone is given. */
static void check_weights(Loaded *x, const Json *j, const JsonNode *in) {
    for (int i = 0; i < WIDTH; i++)
        x->codes[i] = i % 3 ? 1 : -1;
    for (int s = 0; s < x->m->nsource; s++) {
        memset(x->direction, 0, (size_t)x->m->nsource * WIDTH * sizeof(double));
        memcpy(x->direction + s * WIDTH, x->codes, WIDTH * sizeof(double));
        Eval *ev = evaluate(x, x->g);
        for (int r = 0; r < x->m->nread; r++) {
            const double *told = result(&x->p, ev, RESULT_READ, r);
            double mean = told[1] / CONTEXT, square = told[1 + PROBE_CODES] / CONTEXT;
            near(number(j, in, "depth_mixing", r, s), mean, 2e-5, "weight", r);
            near(number(j, in, "depth_mixing_deviation", r, s), sqrt(fmax(square - mean * mean, 0)),
                 1e-3, "deviation", r);
        }
        eval_free(ev);
    }
}

static void check_gradients(Loaded *x, const Json *j, const JsonNode *in) {
    double sum[2] = { 0 };
    Graph *g = graph_extract(x->m->graph, (const char *const[]){ "loss", NULL });
    pass_gradient(g);
    Eval *ev = evaluate(x, g);
    for (int i = 0; i < g->nout; i++) {
        const Node *n = g->out[i].node;
        int layer;
        if (sscanf(g->out[i].name, "grad.layers.%d.", &layer) != 1) continue;
        for (int64_t k = 0; k < shape_count(&n->shape); k++)
            sum[layer] += eval_value(ev, n)[k] * eval_value(ev, n)[k];
    }
    for (int layer = 0; layer < 2; layer++)
        near(number(j, in, "gradient_norm", layer, -1), sqrt(sum[layer]), 2e-4, "gradient of layer",
             layer);
    eval_free(ev);
    graph_free(g);
}

static void check_layers(Loaded *x, const Json *j, const JsonNode *in) {
    Eval *ev = evaluate(x, x->g);
    double loss = mean_nll(ev, x->g);
    near(number(j, in, "loss", -1, -1), loss, 1e-5, "loss", 0);
    for (int i = 0; i < 2; i++) {
        near(number(j, in, "output_norm", i, -1),
             sqrt(*result(&x->p, ev, RESULT_LAYER, i) / CONTEXT), 2e-5, "output of layer", i);
        for (int k = 0; k < 2; k++)
            near(number(j, in, "layer_similarity", i, k),
                 result(&x->p, ev, RESULT_SIMILARITY, i)[k] / CONTEXT, 2e-5, "similarity", i);
        near(number(j, in, "layer_similarity", i, i), 1, 1e-5, "a layer is like itself", i);
    }
    eval_free(ev);
    for (int i = 0; i < 2; i++) {
        x->keep[2 * i + 1] = x->keep[2 * i + 2] = 0;
        ev = evaluate(x, x->g);
        near(number(j, in, "loss_increase", i, -1), mean_nll(ev, x->g) - loss, 2e-5,
             "without layer", i);
        eval_free(ev);
        x->keep[2 * i + 1] = x->keep[2 * i + 2] = 1;
    }
}

static void check_file(const char *weights, const Json *j, const JsonNode *in) {
    Loaded *x = malloc(sizeof *x);
    loaded_open(x, weights);
    check_layers(x, j, in);
    check_weights(x, j, in);
    check_gradients(x, j, in);
    loaded_close(x);
    free(x);
}

static void a_program_says_what_the_interpreter_does(void **state) {
    (void)state;
    size_t length;
    Json j = { 0 };
    Error e = { 0 };
    run("./probed probe --weights last --before first --data text --json -o page.html");
    char *out = folder_read(&folder, "out", &length),
         *page = folder_read(&folder, "page.html", NULL);
    if (json_parse(&j, "out", out, length, 100000, &e)) fail_msg("%s", e.text);
    check_file("last", &j, j.node);
    check_file("first", &j, json_member(&j, j.node, "before"));
    assert_true(number(&j, j.node, "tokens", -1, -1) == CONTEXT);
    assert_non_null(strstr(page, "</html>"));
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "http"));
    json_free(&j);
    free(out), free(page);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    size_t n[2];
    run("./probed probe --weights last --data text --json --threads 1");
    char *one = folder_read(&folder, "out", &n[0]);
    run("./probed probe --weights last --data text --json --threads 2");
    char *two = folder_read(&folder, "out", &n[1]);
    assert_true(n[0] == n[1] && !memcmp(one, two, n[0]));
    free(one), free(two);
}

static void inference_has_no_gradients(void **state) {
    (void)state;
    run("strata build probed.lua --inference -o still");
    run("./still probe --weights last --data text --json");
    char *out = folder_read(&folder, "out", NULL);
    assert_non_null(strstr(out, "\"gradient_norm\": null"));
    free(out);
    run("./still probe --weights last --data text");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_are_followed, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_layer_is_left_out, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(gates_have_places, scratch_setup, scratch_teardown),
        cmocka_unit_test(a_program_says_what_the_interpreter_does),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(inference_has_no_gradients),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
