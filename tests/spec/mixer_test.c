/* SPDX-License-Identifier: MIT
** Every option of the mixers that the golden cases leave out, against a second
** implementation of the definitions: here each read is computed from the
** outputs of all sublayers so far, by the formulas, without running state.
** Models have only MLPs, so that tokens can be done one by one.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "scratch.h"

enum { MAXSOURCE = 2 * S + 1 };

typedef enum Mixer { STANDARD, HIGHWAY, DENSEFORMER, ATTNRES, HAARES } Mixer;

/* A row of the table: the spec's text, and the same again for the reference. */
typedef struct Row {
    const char *residual;
    Mixer mixer;
    int size, heads, window;
    char kernel; /* 'x' softmax, 's' sigmoid, 'l' linear */
    char query;  /* 'l' learned, 'i' input, 's' static */
    bool no_norm, no_gain, value_norm;
    double scale;                      /* of logits; 0: none */
    bool number, duplicate, unmatched; /* haares */
    double bias, gamma;
    int signs[S];
    int dilation, period;    /* denseformer */
    bool layernorm, learned; /* instead of RMSNorm; learned positions */
    const char *activation;
} Row;

/* == A read of sources ==================================================== */

/* q * g, [D]; false if there is none, but logits */
static bool find_query(Reference *r, const char *prefix, const double *newest, double *q) {
    const Row *o = r->options;
    if (o->query == 's') return false;
    const double *w = o->query == 'i' ? P(r, "%s.query.weight", prefix) : P(r, "%s.query", prefix);
    for (int d = 0; d < D; d++)
        q[d] = o->query == 'i' ? dot(w + d * D, newest, D) : w[d];
    if (o->no_norm || o->no_gain) return true;
    const double *g = P(r, "%s.key_norm.weight", prefix);
    for (int d = 0; d < D; d++)
        q[d] *= g[d];
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
                  const double *q, int d, double *w) {
    const Row *o = r->options;
    int group = q ? D / o->heads : D;
    double sum = 0, most = -INFINITY, phi_q[3], phi[3], u[D];
    for (int j = 0; j < n; j++) {
        double scale = o->no_norm || o->value_norm ? 1 : 1 / rms(v[j], r->eps);
        for (int i = 0; i < D; i++)
            u[i] = v[j][i] * scale;
        w[j] = q ? dot(q + d, u + d, group) : P(r, "%s.logits", prefix)[j];
        w[j] = w[j] * (o->scale > 0 ? o->scale : 1) + bias[j];
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
    for (int j = 0; j < n && o->kernel != 's'; j++)
        w[j] /= sum;
}

static void read_sources(Reference *r, int s, double v[][D], const double *bias, int n, double *h) {
    char prefix[48];
    double q[D], w[MAXSOURCE];
    read_prefix(s, prefix);
    memset(h, 0, D * sizeof *h);
    if (((const Row *)r->options)->value_norm && n == 1) {
        add_to(h, 1, v[0]);
        return;
    }
    bool query = find_query(r, prefix, v[n - 1], q);
    for (int j = 0; ((const Row *)r->options)->value_norm && j < n; j++) {
        double size = rms(v[j], r->eps);
        for (int d = 0; d < D; d++)
            v[j][d] /= size;
    }
    for (int d = 0; d < D; d++) {
        int group = D / ((const Row *)r->options)->heads;
        weigh(r, prefix, v, bias, n, query ? q : NULL, d / group * group, w);
        for (int j = 0; j < n; j++)
            h[d] += w[j] * v[j][d];
    }
}

/* == The mixers: h before sublayer s, from e and the outputs u_0 ... u_s-1 == */

static void read_attnres(Reference *r, int s, const double *e, double u[][D], double *h) {
    double v[MAXSOURCE][D] = { { 0 } }, bias[MAXSOURCE] = { 0 };
    const Row *o = r->options;
    int n = 1, size = o->size, window = o->window;
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
    const Row *o = r->options;
    double ratio = rms(C, 0) / (rms(raw, 0) + 1e-6);
    ratio = fmin(fmax(ratio, 1 / o->gamma), o->gamma);
    memset(out, 0, D * sizeof *out);
    if (o->duplicate) add_to(out, 1, C);
    else add_to(out, o->unmatched ? 1 : ratio, raw);
}

static void read_haares(Reference *r, int s, const double *e, double u[][D], double *h) {
    const Row *o = r->options;
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
    const Row *o = r->options;
    double X[LAYERS + 1][D];
    memcpy(h, e, sizeof X[0]);
    memcpy(X[0], e, sizeof X[0]);
    for (int i = 0; i <= s; i++) {
        int layer = begins_layer(i); /* layer is the number of those completed */
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
        for (int d = 0; d < D; d++)
            h[d] = (1 - g) * h[d] + g * u[i][d];
    }
}

static void read_stream(Reference *r, int s, const double *e, double u[][D], double *h) {
    (void)r;
    memcpy(h, e, D * sizeof *h);
    for (int i = 0; i < s; i++)
        add_to(h, 1, u[i]);
}

/* == Models =============================================================== */

static void mix(Reference *r, double x[T][D]) {
    static void (*const read[])(Reference *, int, const double *, double (*)[D],
                                double *) = { [STANDARD] = read_stream,
                                              [HIGHWAY] = read_highway,
                                              [DENSEFORMER] = read_denseformer,
                                              [ATTNRES] = read_attnres,
                                              [HAARES] = read_haares };
    const Row *o = r->options;
    for (int t = 0; t < T; t++) {
        double e[D], u[S][D], h[D];
        memcpy(e, x[t], sizeof e);
        for (int s = 0; s < S; s++) {
            read[o->mixer](r, s, e, u, h);
            sublayer(r, s, h, u[s]);
        }
        read[o->mixer](r, S, e, u, x[t]);
    }
}

static Row filled(const Row *given) {
    Row o = *given;
    if (!o.heads) o.heads = 1;
    if (!o.kernel) o.kernel = 'x';
    if (!o.query) o.query = 'l';
    if (o.gamma == 0) o.gamma = 4;
    if (!o.dilation) o.dilation = 1;
    if (!o.period) o.period = 1;
    return o;
}

static void check_row(void **state, const Row *given) {
    Row o = filled(given);
    Reference r = { .residual = o.residual,
                    .activation = o.activation,
                    .layernorm = o.layernorm,
                    .learned = o.learned,
                    .eps = 0.01,
                    .options = &o };
    reference_check(state, &r, mix);
}

/* == The table ============================================================ */

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
    { "attnres { block_size = 2, key_gain = false, value_norm = true, scale = 0.35 }", ATTNRES,
      .size = 2, .no_gain = true, .value_norm = true, .scale = 0.35 },
    { "attnres { full = true, heads = 2, value_norm = true, kernel = 'sigmoid' }", ATTNRES,
      .size = 1, .heads = 2, .value_norm = true, .kernel = 's' },
    { "attnres { block_size = 3, scale = 2 }", ATTNRES, .size = 3, .scale = 2 },
    { "attnres { block_size = 3, query = 'static' }", ATTNRES, .size = 3, .query = 's' },
    { "attnres { full = true, query = 'static', heads = 4, kernel = 'sigmoid', window = 3 }",
      ATTNRES, .size = 1, .query = 's', .heads = 4, .kernel = 's', .window = 3 },
    { "attnres { block_size = 2, kernel = 'linear', rank = 3 }", ATTNRES, .size = 2,
      .kernel = 'l' },
    { "attnres { full = true, kernel = 'linear', rank = 3, query = 'input' }", ATTNRES, .size = 1,
      .kernel = 'l', .query = 'i' },
    { "attnres { full = true, kernel = 'linear', rank = 3, window = 2 }", ATTNRES, .size = 1,
      .kernel = 'l', .window = 2 },
    { "attnres { block_size = 2, kernel = 'linear', rank = 3, key_norm = false }", ATTNRES,
      .size = 2, .kernel = 'l', .no_norm = true },
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
      .size = 3, .heads = 2, .kernel = 's', .query = 'i' },
    { "haares { block_size = 3, query = 'static', heads = 2 }", HAARES, .size = 3, .query = 's',
      .heads = 2 },
    { "haares { block_size = 3, key_norm = false }", HAARES, .size = 3, .no_norm = true },
    { "haares { block_size = 3, kernel = 'linear', rank = 3 }", HAARES, .size = 3, .kernel = 'l' },
};

static void test_rows(void **state) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        check_row(state, &row[i]);
}

/* == Facts ================================================================ */

static double *logits_of(void **state, const char *residual, double eps, const char *zero) {
    Reference r = { .residual = residual, .eps = eps };
    reference_open(state, &r);
    for (int i = 0; i < r.m->graph->nparam; i++) {
        const Node *n = r.m->graph->param[i].node;
        if (zero && strstr(n->attr->name, zero))
            memset(r.c->value[i], 0, (size_t)shape_count(&n->shape) * sizeof(double));
    }
    double *logits = reference_logits(&r);
    reference_close(&r);
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
                "attnres { full = true, kernel = 'linear', window = 100 }", 0.01, NULL, 1e-11);
    expect_same(state, "denseformer { period = 9 }", "standard {}", 0.01, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_facts) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
