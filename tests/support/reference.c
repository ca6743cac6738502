/* SPDX-License-Identifier: MIT
** See reference.h. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "reference.h"
#include "scratch_spec.h"

const int in_layer[LAYERS] = { 2, 2, 1, 2 };
static const char *const layers_text =
    "layers = { layer { a(), b() }, layer { a(), b() }, layer { a() }, layer { a(), b() } }";
static const int32_t ids[T] = { 3, 0, 10, 7, 3 }, next_ids[T] = { 0, 10, 7, 3, 1 };

/* == Parameters =========================================================== */

const double *P(Reference *r, const char *fmt, ...) {
    char name[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    for (int i = 0; i < r->m->graph->nparam; i++)
        if (!strcmp(r->m->graph->param[i].node->attr->name, name)) {
            r->used[i] = true;
            return r->c->value[i];
        }
    fail_msg("the model has no parameter '%s'", name);
    return NULL;
}

void site_name(int s, char *out) {
    int layer = 0;
    for (; s >= in_layer[layer]; layer++)
        s -= in_layer[layer];
    sprintf(out, "layers.%d.%c", layer, "ab"[s]);
}

void read_prefix(int s, char *out) {
    if (s == S) strcpy(out, "readout.residual");
    else site_name(s, out), strcat(out, ".residual");
}

/* == Vectors ============================================================== */

double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

double rms(const double *v, double eps) { return sqrt(dot(v, v, D) / D + eps); }

void add_to(double *y, double k, const double *x) {
    for (int d = 0; d < D; d++)
        y[d] += k * x[d];
}

static void normalize(Reference *r, const char *prefix, const double *x, double *y) {
    double mean = 0, c[D];
    for (int d = 0; d < D && r->layernorm; d++)
        mean += x[d] / D;
    for (int d = 0; d < D; d++)
        c[d] = x[d] - mean;
    const double *w = P(r, "%s.weight", prefix);
    const double *b = r->layernorm ? P(r, "%s.bias", prefix) : NULL;
    for (int d = 0; d < D; d++)
        y[d] = w[d] * c[d] / rms(c, r->eps) + (b ? b[d] : 0);
}

static double activate(const char *kind, double x) {
    if (!strcmp(kind, "relu")) return x > 0 ? x : 0;
    if (!strcmp(kind, "gelu")) return x * 0.5 * (1 + erf(x / sqrt(2)));
    return x / (1 + exp(-x)); /* silu, and the gate of swiglu */
}

void sublayer(Reference *r, int s, const double *h, double *u) {
    char site[32], norm[48];
    double x[D];
    bool gated = !strcmp(r->activation, "swiglu");
    site_name(s, site);
    snprintf(norm, sizeof norm, "%s.norm", site);
    if (r->bare) memcpy(x, h, sizeof x);
    else normalize(r, norm, h, x);
    const double *up = P(r, "%s.up.weight", site), *down = P(r, "%s.down.weight", site);
    const double *gate = gated ? P(r, "%s.gate.weight", site) : up;
    memset(u, 0, D * sizeof *u);
    for (int f = 0; f < F; f++) {
        double a = activate(r->activation, dot(gate + f * D, x, D));
        if (gated) a *= dot(up + f * D, x, D);
        for (int d = 0; d < D; d++)
            u[d] += down[d * F + f] * a;
    }
}

/* == Models =============================================================== */

static Model *load_spec(void **state, const Reference *r) {
    return scratch_model(
        state,
        "local function a() return mlp { hidden = %d, activation = '%s', name = 'a' } end\n"
        "local function b() return mlp { hidden = %d, activation = '%s', name = 'b' } end\n"
        "return model { name = 'm', vocab = %d, context = %d, dim = %d, norm = %s { eps = %g },\n"
        "embedding = { %s }, residual = %s, %s }",
        F, r->activation, F, r->activation, V, T, D, r->layernorm ? "layernorm" : "rmsnorm", r->eps,
        r->learned ? "positions = 'learned'" : "", r->residual, layers_text);
}

/* A case for a model with this file's tokens; parameters are drawn by name, so
** that variants of a model share what they have in common. */
static Case *case_of(const Model *m) {
    Case *c = case_new(m->graph, 1, 1, T, V, -0.9, 0.9);
    memcpy(c->tokens, ids, sizeof ids);
    memcpy(c->targets, next_ids, sizeof next_ids);
    for (int i = 0; i < m->graph->nparam; i++) {
        uint64_t x = 1;
        for (const char *p = m->graph->param[i].node->attr->name; *p; p++)
            x = x * 31 + (uint64_t)*p;
        int64_t count = shape_count(&m->graph->param[i].node->shape);
        for (int64_t k = 0; k < count; k++) {
            x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            c->value[i][k] = (float)((double)(x >> 33) / 2147483648.0 * 1.8 - 0.9);
        }
    }
    return c;
}

double *reference_logits(const Reference *r) {
    EvalInput in = case_input(r->c);
    Eval *ev = eval_new(r->m->graph, &in);
    double *logits = malloc(T * V * sizeof *logits);
    memcpy(logits, eval_value(ev, graph_find(r->m->graph, "logits")), T * V * sizeof *logits);
    eval_free(ev);
    return logits;
}

void reference_open(void **state, Reference *r) {
    if (!r->activation) r->activation = "swiglu";
    r->m = load_spec(state, r);
    r->c = case_of(r->m);
}

void reference_close(Reference *r) {
    case_free(r->c);
    spec_free(r->m);
}

void expect_close(const char *what, const double *got, const double *want, double tolerance) {
    for (int i = 0; i < T * V; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance))
            fail_msg("%s: logit %d is %.12g, expected %.12g", what, i, got[i], want[i]);
}

static void mixed_logits(Reference *r, Mix *mix, double *logits) {
    double x[T][D], y[D];
    const double *embed = P(r, "embed.weight");
    for (int t = 0; t < T; t++) {
        memcpy(x[t], embed + ids[t] * D, sizeof x[t]);
        if (r->learned) add_to(x[t], 1, P(r, "positions.weight") + t * D);
    }
    mix(r, x);
    for (int t = 0; t < T; t++) {
        normalize(r, "final_norm", x[t], y);
        for (int v = 0; v < V; v++)
            logits[t * V + v] = dot(embed + v * D, y, D);
    }
}

void reference_check(void **state, Reference *r, Mix *mix) {
    double want[T * V];
    reference_open(state, r);
    double *got = reference_logits(r);
    mixed_logits(r, mix, want);
    expect_close(r->residual, got, want, 1e-11);
    for (int i = 0; i < r->m->graph->nparam; i++)
        if (!r->used[i])
            fail_msg("%s: nothing uses '%s'", r->residual, r->m->graph->param[i].node->attr->name);
    double error = case_gradient_error(r->c, op_info);
    if (!(error <= GRADIENT_TOLERANCE)) fail_msg("%s: gradients are off by %g", r->residual, error);
    free(got);
    reference_close(r);
}
