/*
** Every option of the mixers that the golden cases leave out, against a second
** implementation of the definitions: here each read is computed from the
** outputs of all sublayers so far, by the formulas, without running state.
** Models have only MLPs, so that tokens can be done one by one.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradient.h"
#include "numeric.h"
#include "scratch.h"
#include "spec.h"

enum { D = 8, V = 11, F = 6, T = 5, S = 7, LAYERS = 4, MAXSOURCE = 2 * S + 1 };

/* Sublayers of each layer: ragged on purpose. */
static const int in_layer[LAYERS] = { 2, 2, 1, 2 };
static const char *const layers_text =
    "layers = { layer { a(), b() }, layer { a(), b() }, layer { a() }, layer { a(), b() } }";
static const int32_t ids[T] = { 3, 0, 10, 7, 3 }, next_ids[T] = { 0, 10, 7, 3, 1 };

typedef enum Mixer { STANDARD, HIGHWAY, DENSEFORMER, ATTNRES, HAARES } Mixer;

/* A row of the table: the spec's text, and the same again for the reference. */
typedef struct Row {
    const char *residual;
    Mixer mixer;
    int size, heads, window;
    char kernel;                        /* 'x' softmax, 's' sigmoid, 'l' linear */
    char query;                         /* 'l' learned, 'i' input, 's' static */
    bool no_norm, no_gain;
    bool number, duplicate, unmatched; /* haares */
    double bias, gamma;
    int signs[S];
    int dilation, period;               /* denseformer */
    bool layernorm, learned;            /* instead of RMSNorm; learned positions */
    const char *activation;
    double eps;
} Row;

/* {== Parameters ========================================================= */

typedef struct Reference {
    const Row *row;
    const Model *m;
    Case *c;
    bool used[512];
} Reference;

/* The values of a parameter; it counts as used. */
static const double *P(Reference *r, const char *fmt, ...) {
    char name[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    for (int i = 0; i < r->m->graph->nparam; i++)
        if (!strcmp(r->m->graph->param[i].node->attr.name, name)) {
            r->used[i] = true;
            return r->c->value[i];
        }
    fail_msg("the model has no parameter '%s'", name);
    return NULL;
}

static void site_name(int s, char *out) {
    int layer = 0;
    for (; s >= in_layer[layer]; layer++) s -= in_layer[layer];
    sprintf(out, s >= 0 ? "layers.%d.%c" : "", layer, "ab"[s]);
}

/* The prefix of the read before sublayer s; S is the final read. */
static void read_prefix(int s, char *out) {
    if (s == S) strcpy(out, "readout.residual");
    else site_name(s, out), strcat(out, ".residual");
}

/* }{== Vectors =========================================================== */

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double rms(const double *v, double eps) {
    return sqrt(dot(v, v, D) / D + eps);
}

static void add_to(double *y, double k, const double *x) {
    for (int d = 0; d < D; d++) y[d] += k * x[d];
}

static void normalize(Reference *r, const char *prefix, const double *x, double *y) {
    double mean = 0, c[D];
    for (int d = 0; d < D && r->row->layernorm; d++) mean += x[d] / D;
    for (int d = 0; d < D; d++) c[d] = x[d] - mean;
    const double *w = P(r, "%s.weight", prefix);
    const double *b = r->row->layernorm ? P(r, "%s.bias", prefix) : NULL;
    for (int d = 0; d < D; d++) y[d] = w[d] * c[d] / rms(c, r->row->eps) + (b ? b[d] : 0);
}

static double activate(const char *kind, double x) {
    if (!strcmp(kind, "relu")) return x > 0 ? x : 0;
    if (!strcmp(kind, "gelu")) return x * 0.5 * (1 + erf(x / sqrt(2)));
    return x / (1 + exp(-x));           /* silu, and the gate of swiglu */
}

/* u = MLP(norm(h)) of sublayer s */
static void sublayer(Reference *r, int s, const double *h, double *u) {
    char site[32], norm[48];
    double x[D];
    bool gated = !strcmp(r->row->activation, "swiglu");
    site_name(s, site);
    snprintf(norm, sizeof norm, "%s.norm", site);
    normalize(r, norm, h, x);
    const double *up = P(r, "%s.up.weight", site), *down = P(r, "%s.down.weight", site);
    const double *gate = gated ? P(r, "%s.gate.weight", site) : up;
    memset(u, 0, D * sizeof *u);
    for (int f = 0; f < F; f++) {
        double a = activate(r->row->activation, dot(gate + f * D, x, D));
        if (gated) a *= dot(up + f * D, x, D);
        for (int d = 0; d < D; d++) u[d] += down[d * F + f] * a;
    }
}

/* }{== A read of sources ================================================= */

/* q * g, [D]; false if there is none, but logits */
static bool find_query(Reference *r, const char *prefix, const double *newest, double *q) {
    const Row *o = r->row;
    if (o->query == 's') return false;
    const double *w = o->query == 'i' ? P(r, "%s.query.weight", prefix) : P(r, "%s.query", prefix);
    for (int d = 0; d < D; d++) q[d] = o->query == 'i' ? dot(w + d * D, newest, D) : w[d];
    if (o->no_norm || o->no_gain) return true;
    const double *g = P(r, "%s.key_norm.weight", prefix);
    for (int d = 0; d < D; d++) q[d] *= g[d];
    return true;
}

static void feature(Reference *r, const double *u, double *phi) {
    const double *w = P(r, "residual.feature.weight");
    for (int k = 0; k < 3; k++) {
        double x = dot(w + k * D, u, D);
        phi[k] = x > 0 ? x + 1 : exp(x);
    }
}

/* The weights of n sources for one group of channels, from d on. */
static void weigh(Reference *r, const char *prefix, double v[][D], const double *bias, int n,
                  const double *q, int d,
                  double *w) {
    const Row *o = r->row;
    int group = q ? D / o->heads : D;
    double sum = 0, most = -INFINITY, phi_q[3], phi[3], u[D];
    for (int j = 0; j < n; j++) {
        double scale = o->no_norm ? 1 : 1 / rms(v[j], o->eps);
        for (int i = 0; i < D; i++) u[i] = v[j][i] * scale;
        w[j] = (q ? dot(q + d, u + d, group) : P(r, "%s.logits", prefix)[j]) + bias[j];
        if (o->kernel == 'l') {
            feature(r, q, phi_q);
            feature(r, u, phi);
            w[j] = dot(phi_q, phi, 3) * exp(bias[j]);
        }
        most = fmax(most, w[j]);
    }
    for (int j = 0; j < n; j++) {
        if (o->kernel == 'x') w[j] = exp(w[j] - most);
        if (o->kernel == 's') w[j] = 1 / (1 + exp(-w[j]));
        sum += w[j];
    }
    for (int j = 0; j < n && o->kernel != 's'; j++) w[j] /= sum;
}

static void read_sources(Reference *r, int s, double v[][D], const double *bias, int n, double *h) {
    char prefix[48];
    double q[D], w[MAXSOURCE];
    read_prefix(s, prefix);
    bool query = find_query(r, prefix, v[n - 1], q);
    memset(h, 0, D * sizeof *h);
    for (int d = 0; d < D; d++) {
        int group = D / r->row->heads;
        weigh(r, prefix, v, bias, n, query ? q : NULL, d / group * group, w);
        for (int j = 0; j < n; j++) h[d] += w[j] * v[j][d];
    }
}

/* }{== The mixers: h before sublayer s, from e and the outputs u_0 ... u_s-1 == */

static void read_attnres(Reference *r, int s, const double *e, double u[][D], double *h) {
    double v[MAXSOURCE][D] = { { 0 } }, bias[MAXSOURCE] = { 0 };
    int n = 1, size = r->row->size, window = r->row->window;
    memcpy(v[0], e, sizeof v[0]);
    for (int i = 0; i < s; i++) {
        if (i % size == 0) n++;
        add_to(v[n - 1], 1, u[i]);
    }
    if (window && n - 1 > window) {
        memmove(v[1], v[n - window], (size_t)window * sizeof v[0]);
        n = window + 1;
    }
    read_sources(r, s, v, bias, n, h);
}

static void detail(Reference *r, const double *C, const double *raw, double *out) {
    const Row *o = r->row;
    double ratio = rms(C, 0) / (rms(raw, 0) + 1e-6);
    ratio = fmin(fmax(ratio, 1 / o->gamma), o->gamma);
    memset(out, 0, D * sizeof *out);
    if (o->duplicate) add_to(out, 1, C);
    else add_to(out, o->unmatched ? 1 : ratio, raw);
}

static void read_haares(Reference *r, int s, const double *e, double u[][D], double *h) {
    const Row *o = r->row;
    double v[MAXSOURCE][D] = { { 0 } }, bias[MAXSOURCE] = { 0 };
    int n = 1;
    memcpy(v[0], e, sizeof v[0]);
    for (int first = 0; first < s; first += o->size) {
        double C[D] = { 0 }, raw[D] = { 0 };
        for (int i = first; i < s && i < first + o->size; i++) {
            int place = i - first;
            add_to(C, 1, u[i]);
            add_to(raw, o->signs[0] ? o->signs[place] : place < (o->size + 1) / 2 ? 1 : -1, u[i]);
        }
        memcpy(v[n++], C, sizeof C);
        if (s == S) continue;
        bias[n] = o->number ? o->bias : *P(r, "blocks.%d.residual.detail_bias", first / o->size);
        detail(r, C, raw, v[n++]);
    }
    read_sources(r, s, v, bias, n, h);
}

/* The layer that sublayer s begins, or -1. */
static int begins_layer(int s) {
    int first = 0;
    for (int i = 0; i <= LAYERS; first += in_layer[i++])
        if (first == s) return i;
        else if (i == LAYERS) break;
    return -1;
}

/* Layer states X_0 ... X_L by recursion, averaged as the period says. */
static void read_denseformer(Reference *r, int s, const double *e, double u[][D], double *h) {
    const Row *o = r->row;
    double X[LAYERS + 1][D];
    memcpy(h, e, sizeof X[0]);
    memcpy(X[0], e, sizeof X[0]);
    for (int i = 0; i <= s; i++) {
        int layer = begins_layer(i);                /* layer is the number of those completed */
        if (layer > 0) {
            memcpy(X[layer], h, sizeof X[0]);
            const double *alpha = layer % o->period ? NULL
                : P(r, "layers.%d.residual.alpha", layer - 1);
            if (alpha) memset(h, 0, sizeof X[0]);
            for (int j = 0; j <= layer && alpha; j++)
                if (j % o->dilation == layer % o->dilation) add_to(h, alpha[j], X[j]);
        }
        if (i < s) add_to(h, 1, u[i]);
    }
}

static void read_highway(Reference *r, int s, const double *e, double u[][D], double *h) {
    char prefix[48];
    memcpy(h, e, D * sizeof *h);
    for (int i = 0; i < s; i++) {
        read_prefix(i, prefix);
        double z = dot(P(r, "%s.gate.weight", prefix), h, D) + *P(r, "%s.gate.bias", prefix);
        double g = 1 / (1 + exp(-z));
        for (int d = 0; d < D; d++) h[d] = (1 - g) * h[d] + g * u[i][d];
    }
}

static void read_stream(Reference *r, int s, const double *e, double u[][D], double *h) {
    (void)r;
    memcpy(h, e, D * sizeof *h);
    for (int i = 0; i < s; i++) add_to(h, 1, u[i]);
}

/* }{== Models ============================================================ */

static void reference_logits(Reference *r, int id, int position, double *logits) {
    static void (*const read[])(Reference *, int, const double *, double (*)[D], double *) = {
        [STANDARD] = read_stream, [HIGHWAY] = read_highway, [DENSEFORMER] = read_denseformer,
        [ATTNRES] = read_attnres, [HAARES] = read_haares
    };
    double e[D], u[S][D], h[D], x[D];
    memcpy(e, P(r, "embed.weight") + id * D, sizeof e);
    if (r->row->learned) add_to(e, 1, P(r, "positions.weight") + position * D);
    for (int s = 0; s < S; s++) {
        read[r->row->mixer](r, s, e, u, h);
        sublayer(r, s, h, u[s]);
    }
    read[r->row->mixer](r, S, e, u, h);
    normalize(r, "final_norm", h, x);
    for (int v = 0; v < V; v++) logits[v] = dot(P(r, "embed.weight") + v * D, x, D);
}

static Row filled(const Row *given) {
    Row o = *given;
    if (!o.heads) o.heads = 1;
    if (!o.kernel) o.kernel = 'x';
    if (!o.query) o.query = 'l';
    if (o.gamma == 0) o.gamma = 4;
    if (!o.dilation) o.dilation = 1;
    if (!o.period) o.period = 1;
    if (!o.activation) o.activation = "swiglu";
    o.eps = 0.01;
    return o;
}

static Model *load_row(void **state, const Row *o) {
    char path[SCRATCH_PATH], text[1200];
    SpecError error;
    snprintf(text, sizeof text,
             "local function a() return mlp { hidden = 6, activation = '%s', name = 'a' } end\n"
             "local function b() return mlp { hidden = 6, activation = '%s', name = 'b' } end\n"
             "return model { name = 'm', vocab = 11, context = 5, dim = 8, norm = %s { eps = %g },\n"
             "embedding = { %s }, residual = %s, %s }",
             o->activation, o->activation, o->layernorm ? "layernorm" : "rmsnorm", o->eps,
             o->learned ? "positions = 'learned'" : "", o->residual, layers_text);
    scratch_write(scratch_path(state, "mixer.lua", path), text, strlen(text));
    Model *m = spec_load(path, NULL, &error);
    if (!m) fail_msg("%s", error.message);
    return m;
}

/* A case for a model with this file's tokens; parameters are drawn by name, so
** that variants of a model share what they have in common. */
static Case *case_of(const Model *m) {
    Case *c = case_new(m->graph, 1, 1, T, V, -0.9, 0.9);
    memcpy(c->tokens, ids, sizeof ids);
    memcpy(c->targets, next_ids, sizeof next_ids);
    for (int i = 0; i < m->graph->nparam; i++) {
        uint64_t x = 1;
        for (const char *p = m->graph->param[i].node->attr.name; *p; p++) x = x * 31 + (uint64_t)*p;
        int64_t count = shape_count(&m->graph->param[i].node->shape);
        for (int64_t k = 0; k < count; k++) {
            x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            c->value[i][k] = (float)((double)(x >> 33) / 2147483648.0 * 1.8 - 0.9);
        }
    }
    return c;
}

static double *copy_logits(const Model *m, const Case *c) {
    EvalInput in = case_input(c);
    Eval *ev = eval_new(m->graph, &in);
    double *logits = malloc(T * V * sizeof *logits);
    memcpy(logits, eval_value(ev, graph_find(m->graph, "logits")), T * V * sizeof *logits);
    eval_free(ev);
    return logits;
}

static void expect_close(const char *what, const double *got, const double *want, double tolerance) {
    for (int i = 0; i < T * V; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance))
            fail_msg("%s: logit %d is %.12g, expected %.12g", what, i, got[i], want[i]);
}

static void check_row(void **state, const Row *given) {
    Row row = filled(given);
    Model *m = load_row(state, &row);
    Case *c = case_of(m);
    Reference r = { .row = &row, .m = m, .c = c };
    double want[T * V], *got = copy_logits(m, c);
    for (int t = 0; t < T; t++) reference_logits(&r, ids[t], t, want + t * V);
    expect_close(row.residual, got, want, 1e-11);
    for (int i = 0; i < m->graph->nparam; i++)
        if (!r.used[i])
            fail_msg("%s: nothing uses '%s'", row.residual, m->graph->param[i].node->attr.name);
    double error = case_gradient_error(c, op_info);
    if (!(error <= GRADIENT_TOLERANCE)) fail_msg("%s: gradients are off by %g", row.residual, error);
    free(got);
    case_free(c);
    spec_free(m);
}

/* }{== The table ========================================================= */

static const Row row[] = {
    { "standard {}", STANDARD, .size = 0 },
    { "standard {}", STANDARD, .activation = "gelu", .layernorm = true, .learned = true },
    { "standard {}", STANDARD, .activation = "relu" },
    { "standard {}", STANDARD, .activation = "silu" },
    { "highway { gate = 'scalar' }", HIGHWAY, .size = 0 },
    { "denseformer {}", DENSEFORMER, .dilation = 1 },
    { "denseformer { dilation = 2 }", DENSEFORMER, .dilation = 2 },
    { "denseformer { period = 2 }", DENSEFORMER, .period = 2 },
    { "denseformer { dilation = 3, period = 2 }", DENSEFORMER, .dilation = 3, .period = 2 },
    { "attnres { blocks = 3 }", ATTNRES, .size = 3 },
    { "attnres { block_size = 2 }", ATTNRES, .size = 2 },
    { "attnres { block_size = 9 }", ATTNRES, .size = 9 },
    { "attnres { full = true, window = 2 }", ATTNRES, .size = 1, .window = 2 },
    { "attnres { block_size = 2, window = 2 }", ATTNRES, .size = 2, .window = 2 },
    { "attnres { block_size = 2, heads = 4, kernel = 'sigmoid' }", ATTNRES, .size = 2, .heads = 4,
        .kernel = 's' },
    { "attnres { block_size = 2, heads = 2, query = 'input' }", ATTNRES, .size = 2, .heads = 2,
        .query = 'i' },
    { "attnres { block_size = 3, key_norm = false }", ATTNRES, .size = 3, .no_norm = true },
    { "attnres { block_size = 3, key_gain = false, heads = 2 }", ATTNRES, .size = 3,
        .no_gain = true, .heads = 2 },
    { "attnres { block_size = 3, query = 'static' }", ATTNRES, .size = 3, .query = 's' },
    { "attnres { full = true, query = 'static', heads = 4, kernel = 'sigmoid', window = 3 }",
        ATTNRES, .size = 1,
      .query = 's', .heads = 4, .kernel = 's', .window = 3 },
    { "attnres { block_size = 2, kernel = 'linear', rank = 3 }", ATTNRES, .size = 2, .kernel = 'l' },
    { "attnres { full = true, kernel = 'linear', rank = 3, query = 'input' }", ATTNRES, .size = 1,
        .kernel = 'l', .query = 'i' },
    { "attnres { full = true, kernel = 'linear', rank = 3, window = 2 }", ATTNRES, .size = 1,
        .kernel = 'l', .window = 2 },
    { "attnres { block_size = 2, kernel = 'linear', rank = 3, key_norm = false }", ATTNRES,
        .size = 2, .kernel = 'l',
      .no_norm = true },
    { "haares { blocks = 3 }", HAARES, .size = 3 },
    { "haares { block_size = 2 }", HAARES, .size = 2 },
    { "haares { block_size = 1 }", HAARES, .size = 1 },
    { "haares { block_size = 4, gamma = 1.2 }", HAARES, .size = 4, .gamma = 1.2 },
    { "haares { block_size = 3, rms_match = false }", HAARES, .size = 3, .unmatched = true },
    { "haares { block_size = 3, detail = 'duplicate' }", HAARES, .size = 3, .duplicate = true },
    { "haares { block_size = 3, bias = 0.5 }", HAARES, .size = 3, .number = true, .bias = 0.5 },
    { "haares { block_size = 3, detail = 'random', signs = { -1, 1, -1 } }", HAARES, .size = 3,
        .signs = { -1, 1, -1 } },
    { "haares { block_size = 3, heads = 2, kernel = 'sigmoid', query = 'input' }", HAARES,
        .size = 3, .heads = 2,
      .kernel = 's', .query = 'i' },
    { "haares { block_size = 3, query = 'static', heads = 2 }", HAARES, .size = 3, .query = 's',
        .heads = 2 },
    { "haares { block_size = 3, key_norm = false }", HAARES, .size = 3, .no_norm = true },
    { "haares { block_size = 3, kernel = 'linear', rank = 3 }", HAARES, .size = 3, .kernel = 'l' },
};

static void test_rows(void **state) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) check_row(state, &row[i]);
}

/* }{== Facts ============================================================= */

static double *logits_of(void **state, const char *residual, double eps, const char *zero) {
    Row o = filled(&(Row){ .residual = residual });
    o.eps = eps;
    Model *m = load_row(state, &o);
    Case *c = case_of(m);
    for (int i = 0; i < m->graph->nparam; i++) {
        const Node *n = m->graph->param[i].node;
        if (zero && strstr(n->attr.name, zero))
            memset(c->value[i], 0, (size_t)shape_count(&n->shape) * sizeof(double));
    }
    double *logits = copy_logits(m, c);
    case_free(c);
    spec_free(m);
    return logits;
}

static void expect_same(void **state, const char *a, const char *b, double eps, const char *zero,
                        double tolerance) {
    double *x = logits_of(state, a, eps, zero), *y = logits_of(state, b, eps, zero);
    expect_close(a, x, y, tolerance);
    free(x);
    free(y);
}

static void test_facts(void **state) {
    /* with queries 0 and no eps a mean of sources is their sum but for a factor */
    expect_same(state, "attnres { full = true }", "standard {}", 0, "query", 1e-11);
    expect_same(state, "attnres { blocks = 3 }", "standard {}", 0, "query", 1e-11);
    expect_same(state, "attnres { block_size = 1 }", "attnres { full = true }", 0.01, NULL, 0);
    expect_same(state, "haares { blocks = 3, bias = -1000 }", "attnres { blocks = 3 }", 0.01, NULL,
                1e-11);
    expect_same(state, "attnres { full = true, kernel = 'linear' }",
                "attnres { full = true, kernel = 'linear', window = 100 }",
                0.01, NULL, 1e-11);
    expect_same(state, "denseformer { period = 9 }", "standard {}", 0.01, NULL, 0);
}

/* }====================================================================== */

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_facts) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
