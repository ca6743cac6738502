/* SPDX-License-Identifier: MIT
** Depth Routing Residuals against their definition, as published and causal: memories
** laid out one after another in time, every position's attention to them by the
** formula.  reference.h does the rest.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference.h"
#include "scratch.h"

enum { MOST = (LAYERS + 1) * 8, WIDE = 3 * D };

typedef struct Row {
    const char *residual;
    int heads, window, summary_tokens, block_layers, hidden_mult, chunk; /* chunk 0: not causal */
    bool learned;
} Row;

/* Positions to attend to; position t sees those with from <= t. */
typedef struct Memory {
    int n;
    double at[MOST][D];
    int from[MOST];
} Memory;

/* == Parts ================================================================ */

static void product(const double *w, const double *x, int out, int in, double *y) {
    for (int i = 0; i < out; i++)
        y[i] = dot(w + i * in, x, in);
}

static void layernorm(Reference *r, const char *prefix, const double *x, double *y) {
    const double *w = P(r, "%s.weight", prefix), *b = P(r, "%s.bias", prefix);
    double mean = 0, c[D];
    for (int d = 0; d < D; d++)
        mean += x[d] / D;
    for (int d = 0; d < D; d++)
        c[d] = x[d] - mean;
    for (int d = 0; d < D; d++)
        y[d] = w[d] * c[d] / rms(c, 1e-5) + b[d];
}

static void route(Reference *r, int layer, const double *x, double *share) {
    const int wide = ((const Row *)r->options)->hidden_mult * D;
    char p[64], norm[80];
    double y[D], u[WIDE], sum = 0;
    snprintf(p, sizeof p, "layers.%d.residual.router", layer);
    snprintf(norm, sizeof norm, "%s.norm", p);
    layernorm(r, norm, x, y);
    product(P(r, "%s.hidden.weight", p), y, wide, D, u);
    for (int i = 0; i < wide; i++) {
        u[i] += P(r, "%s.hidden.bias", p)[i];
        u[i] *= 0.5 * (1 + erf(u[i] / sqrt(2)));
    }
    product(P(r, "%s.out.weight", p), u, 3, wide, share);
    for (int i = 0; i < 3; i++)
        sum += share[i] = exp(share[i] + P(r, "%s.out.bias", p)[i]);
    for (int i = 0; i < 3; i++)
        share[i] /= sum;
}

/* One head: sum of softmax(q k_j) v_j over what t sees, into o; 0 if it sees nothing. */
static void attend_head(const Memory *m, int t, const double *q, double k[][D], double v[][D],
                        int first, int width, double *o) {
    double w[MOST], sum = 0;
    for (int j = 0; j < m->n; j++)
        sum += w[j] = m->from[j] <= t ? exp(dot(q + first, k[j] + first, width) / sqrt(width)) : 0;
    for (int d = first; d < first + width; d++) {
        o[d] = 0;
        for (int j = 0; j < m->n && sum > 0; j++)
            o[d] += w[j] / sum * v[j][d];
    }
}

/* h += share * attention of x to the memory, for position t */
static void attend(Reference *r, int layer, const char *which, const Memory *m, int t,
                   const double *x, double share, double *h) {
    const Row *o = r->options;
    double q[D], k[MOST][D], v[MOST][D], heads[D], y[D];
    char p[64];
    snprintf(p, sizeof p, "layers.%d.residual.%s", layer, which);
    if (o->learned) memcpy(q, P(r, "%s.query", p), sizeof q);
    else product(P(r, "%s.q.weight", p), x, D, D, q);
    for (int j = 0; j < m->n; j++) {
        product(P(r, "%s.k.weight", p), m->at[j], D, D, k[j]);
        product(P(r, "%s.v.weight", p), m->at[j], D, D, v[j]);
    }
    for (int i = 0; i < o->heads; i++)
        attend_head(m, t, q, k, v, i * (D / o->heads), D / o->heads, heads);
    product(P(r, "%s.o.weight", p), heads, D, D, y);
    add_to(h, share, y);
}

/* == Memories ============================================================= */

/* The last 'window' layers' outputs, X[layer][t]. */
static void remember_short(const Row *o, double X[][T][D], int layer, Memory *m) {
    m->n = 0;
    for (int i = layer > o->window ? layer - o->window : 0; i < layer; i++)
        for (int t = 0; t < T; t++, m->n++) {
            memcpy(m->at[m->n], X[i][t], sizeof X[i][t]);
            m->from[m->n] = o->chunk ? t : 0;
        }
}

/* Averages of y over positions first ... end - 1, seen from 'from' on. */
static void average(double y[T][D], int first, int end, int from, Memory *m) {
    memset(m->at[m->n], 0, sizeof m->at[0]);
    for (int t = first; t < end; t++)
        add_to(m->at[m->n], 1.0 / (end - first), y[t]);
    m->from[m->n++] = from;
}

/* Adds a layer's summaries. */
static void remember_long(Reference *r, double X[T][D], Memory *m) {
    const Row *o = r->options;
    double y[T][D], x[D];
    for (int t = 0; t < T; t++) {
        layernorm(r, "summary.norm", X[t], x);
        product(P(r, "summary.proj.weight"), x, D, D, y[t]);
        add_to(y[t], 1, P(r, "summary.proj.bias"));
    }
    for (int j = 0; o->chunk && (j + 1) * o->chunk <= T; j++)
        average(y, j * o->chunk, (j + 1) * o->chunk, (j + 1) * o->chunk, m);
    for (int j = 0; !o->chunk && j < o->summary_tokens; j++)
        average(y, j * T / o->summary_tokens,
                ((j + 1) * T + o->summary_tokens - 1) / o->summary_tokens, 0, m);
}

static void drr(Reference *r, double x[T][D]) {
    const Row *o = r->options;
    static double X[LAYERS][T][D];
    static Memory recent, far;
    far.n = 0;
    for (int layer = 0, s = 0; layer < LAYERS; s += in_layer[layer++]) {
        remember_short(o, X, layer, &recent);
        for (int t = 0; t < T; t++) {
            double share[3], h[D] = { 0 }, out[D];
            route(r, layer, x[t], share);
            add_to(h, share[0], x[t]);
            if (recent.n) attend(r, layer, "short", &recent, t, x[t], share[1], h);
            if (far.n) attend(r, layer, "long", &far, t, x[t], share[2], h);
            for (int i = 0; i < in_layer[layer]; i++) {
                sublayer(r, s + i, h, out);
                add_to(h, 1, out);
            }
            memcpy(X[layer][t], h, sizeof h);
        }
        memcpy(x, X[layer], sizeof X[layer]);
        if ((layer + 1) % o->block_layers == 0 && layer + 1 < LAYERS) remember_long(r, x, &far);
    }
}

/* == The table ============================================================ */

static const Row row[] = {
    { "drr { heads = 2 }", 2, 4, 8, 4, 1, 0, false },
    { "drr { heads = 4, window = 2, summary_tokens = 2, block_layers = 2 }", 4, 2, 2, 2, 1, 0,
      false },
    { "drr { heads = 1, window = 1, summary_tokens = 7, block_layers = 1, hidden_mult = 3 }", 1, 1,
      7, 1, 3, 0, false },
    { "drr { heads = 8, summary_tokens = 3, block_layers = 1, query = 'learned' }", 8, 4, 3, 1, 1,
      0, true },
    { "drr { heads = 2, window = 2, block_layers = 1, causal = true, chunk = 1 }", 2, 2, 0, 1, 1, 1,
      false },
    { "drr { heads = 2, window = 3, block_layers = 1, causal = true, chunk = 2 }", 2, 3, 0, 1, 1, 2,
      false },
    { "drr { heads = 4, block_layers = 2, causal = true, chunk = 3, summary_tokens = 9 }", 4, 4, 0,
      2, 1, 3, false },
    { "drr { heads = 1, window = 1, block_layers = 3, causal = true, chunk = 4, hidden_mult = 2 }",
      1, 1, 0, 3, 2, 4, false },
    { "drr { heads = 2, block_layers = 1, causal = true, chunk = 2, query = 'learned' }", 2, 4, 0,
      1, 1, 2, true },
};

static void every_row_is_its_definition(void **state) {
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Reference r = { .residual = row[i].residual, .eps = 0.01, .options = &row[i] };
        reference_check(state, &r, drr);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_row_is_its_definition) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
