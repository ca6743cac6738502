/* SPDX-License-Identifier: MIT
** A probe as one HTML file (page.h).
*/
#include "probe.h"

#include <math.h>
#include <stdlib.h>

#include "chart.h"
#include "page.h"

enum { KINDS = 8, SINKS = 16 };

/* Beside the style of all pages (page.h). */
static const char style[] =
    "th,td{white-space:nowrap}thead th{white-space:normal}figure.wide{max-width:960px;margin:1em 0}"
    ".passage{font:14px/1.7 ui-monospace,monospace;white-space:pre-wrap;margin:.6em 0}"
    ".key{padding:0 .5em}.t0{background:none}.t1{background:rgba(213,94,0,.15)}"
    ".t2{background:rgba(213,94,0,.3)}.t3{background:rgba(213,94,0,.45)}"
    ".t4{background:rgba(213,94,0,.6)}.t5{background:rgba(213,94,0,.75)}";

typedef struct Page {
    const Probe *x, *before;
    Text *t;
} Page;

static void figure(const Page *p, const char *title, const char *note) {
    text_add(p->t, "<figure><figcaption>%s<span>%s</span></figcaption>\n", title, note);
}

/* A dash where nothing was measured. */
static void cell(const Page *p, const char *format, double value) {
    char text[32];
    print_text(text, sizeof text, isfinite(value) ? format : "\xe2\x80\x93", value);
    text_add(p->t, "<td>%s</td>", text);
}

/* == Depth mixing ========================================================= */

static double largest(const Probe *x) {
    double most = 0;
    for (int64_t i = 0; x && x->weight && i < (int64_t)x->reads * x->sources; i++)
        most = fmax(most, fabs(x->weight[i]));
    return most;
}

static void add_mixing(const Page *p, const Probe *x, double scale, const char *title) {
    if (!x || !x->weight) return;
    figure(p, title, "mean weight over tokens");
    chart_heat_map(&(HeatMap){ x->weight, x->reads, x->sources, scale, true, "depth-mixing matrix",
                               "source: embedding 0, output of sublayer i",
                               "read, the last one is the final read" },
                   p->t);
    text_add(p->t, "</figure>\n");
}

static void add_mixings(const Page *p) {
    double scale = fmax(largest(p->x), largest(p->before));
    page_heading(p->t, "Depth mixing",
                 "With which weight each read takes the embedding and each sublayer\xe2\x80\x99s "
                 "output, a mean over channels and tokens; "
                 "shaded by the square root.");
    if (!(scale > 0)) {
        text_add(p->t,
                 "<p>Not measured: the model has too many sublayers, or its reads take no sources "
                 "linearly.</p>\n");
        return;
    }
    text_add(p->t, "<figure>");
    chart_scale(scale, true, p->t);
    text_add(p->t, "</figure>\n<div class=\"figures\">\n");
    add_mixing(p, p->before, scale, "Before");
    add_mixing(p, p->x, scale, p->before ? "After" : "Weights");
    if (p->x->deviation) {
        figure(p, "Deviation over tokens", "0: the weight is the same whatever the input");
        chart_heat_map(&(HeatMap){ p->x->deviation, p->x->reads, p->x->sources, scale, true,
                                   "deviation of weights", "source", "read" },
                       p->t);
        text_add(p->t, "</figure>\n");
    }
    text_add(p->t, "</div>\n");
}

static void add_share_rows(const Page *p, const Probe *x, const char *when) {
    ProbeShare share[KINDS];
    int n = x ? probe_shares(x, share, KINDS) : 0;
    for (int i = 0; i < n; i++) {
        text_add(p->t, "<tr><th scope=\"row\">");
        svg_escaped(p->t, share[i].kind);
        text_add(p->t, "%s</th><td>%d</td><td>%.1f</td><td>%.1f</td><td>%.1f</td></tr>\n", when,
                 share[i].reads, 100 * share[i].embedding, 100 * share[i].diagonal,
                 100 * share[i].far);
    }
}

static void add_sink_rows(const Page *p, const Probe *x, const char *when) {
    ProbeSink sink[SINKS];
    int n = x ? probe_sinks(x, sink, SINKS) : 0;
    for (int i = 0; i < n; i++) {
        text_add(p->t, "<tr><th scope=\"row\">");
        svg_escaped(p->t, x->source_site[sink[i].source]);
        text_add(p->t, "%s</th><td>%.1f</td><td>%.1f</td><td>%.0f</td></tr>\n", when,
                 100 * sink[i].share, 100 * sink[i].even, 100 * sink[i].variation);
    }
    if (x && !n)
        text_add(p->t, "<tr><th scope=\"row\">none%s</th><td></td><td></td><td></td></tr>\n", when);
}

static void table(const Page *p, const char *label, const char *head) {
    page_table(p->t, label);
    text_add(p->t, "<thead><tr>%s</tr></thead><tbody>\n", head);
}

static void add_tables(const Page *p) {
    const char *before = p->before ? ", before" : "", *after = p->before ? ", after" : "";
    if (!p->x->weight) return;
    page_heading(p->t, "Where reads take their weight from",
                 "Shares of absolute weight in percent, by the kind of sublayer that reads: the "
                 "embedding, the newest "
                 "source (the diagonal of the matrix), and all between.");
    table(p, "shares of weight",
          "<th>read by</th><th>reads</th><th>embedding, %</th><th>newest source, "
          "%</th><th>between, %</th>");
    add_share_rows(p, p->before, before);
    add_share_rows(p, p->x, after);
    page_table_end(p->t);
    page_heading(
        p->t, "Sinks",
        "Sources that take at least twice an even share of later reads\xe2\x80\x99 weight, "
        "whatever the input: it varies by less than half over tokens.");
    table(
        p, "sinks",
        "<th>source</th><th>share, %</th><th>even share, %</th><th>variation over tokens, %</th>");
    add_sink_rows(p, p->before, before);
    add_sink_rows(p, p->x, after);
    page_table_end(p->t);
}

/* == Layers =============================================================== */

static void add_lines(const Page *p, const char *title, const char *note, const char *across,
                      const char *up, const double *after, const double *before, int count) {
    static const char *const name[] = { "after", "before" };
    const double *series[] = { after, before };
    if (!after || count < 1) return;
    figure(p, title, note);
    chart_lines(&(LineChart){ series, name, before ? 2 : 1, count, title, across, up, true }, p->t);
    text_add(p->t, "</figure>\n");
}

static void add_dynamics(const Page *p) {
    const Probe *x = p->x, *b = p->before;
    page_heading(
        p->t, "Layers",
        "Root mean squares over channels and tokens: of a layer that a route gives some tokens "
        "only, over those. Under PreNorm residuals what sublayers read grows with depth, and "
        "with it what they must "
        "add to be heard; mixers over depth bound it.");
    text_add(p->t, "<div class=\"figures\">\n");
    add_lines(p, "Output of a layer", "what its sublayers add", "layer", "root mean square",
              x->layer_rms, b ? b->layer_rms : NULL, x->layers);
    add_lines(p, "Output of a sublayer", "source 0 is the embedding", "source", "root mean square",
              x->source_rms, b ? b->source_rms : NULL, x->sources);
    add_lines(p, "What sublayers read", "before their norm; the last is the final read", "read",
              "root mean square", x->read_rms, b ? b->read_rms : NULL, x->reads);
    add_lines(p, "Gradients", "of a layer\xe2\x80\x99s parameters", "layer", "norm",
              x->gradient_norm, b ? b->gradient_norm : NULL, x->layers);
    add_lines(p, "Loss without a layer", "increase when its outputs are 0", "layer",
              "nats per token", x->loss_increase, b ? b->loss_increase : NULL, x->layers);
    text_add(p->t, "</div>\n");
}

static void add_similarity(const Page *p, const Probe *x, const char *title) {
    if (!x || !x->similarity) return;
    figure(p, title,
           "from \xe2\x88\x92"
           "1, blue, to 1, orange");
    chart_heat_map(&(HeatMap){ x->similarity, x->layers, x->layers, 1, false, "cosines of layers",
                               "layer", "layer" },
                   p->t);
    text_add(p->t, "</figure>\n");
}

static void add_similarities(const Page *p) {
    if (!p->x->similarity) return;
    page_heading(
        p->t, "Similarity of layers",
        "Cosine of two layers\xe2\x80\x99 outputs, a mean over the tokens that both work on.");
    text_add(p->t, "<div class=\"figures\">\n");
    add_similarity(p, p->before, "Before");
    add_similarity(p, p->x, p->before ? "After" : "Cosine");
    text_add(p->t, "</div>\n");
}

static void add_gate_rows(const Page *p) {
    const Probe *x = p->x, *b = p->before;
    for (int i = 0; i < x->gates; i++) {
        text_add(p->t, "<tr><th scope=\"row\">");
        svg_escaped(p->t, x->gate_site[i]);
        text_add(p->t, "</th>");
        cell(p, "%.4g", x->gate_mean[i]), cell(p, "%.4g", x->gate_deviation[i]);
        if (b) cell(p, "%.4g", b->gate_mean[i]), cell(p, "%.4g", b->gate_deviation[i]);
        text_add(p->t, "</tr>\n");
    }
}

static void add_gates(const Page *p) {
    if (!p->x->gates) return;
    page_heading(
        p->t, "Gates",
        "Sigmoids and hyperbolic tangents that mixers and routes compute, with the place in "
        "the model and the Lua line; mean and deviation over tokens and "
        "elements.");
    table(p, "gates",
          p->before ? "<th>gate</th><th>mean, after</th><th>deviation, after</th><th>mean, "
                      "before</th><th>deviation, before</th>"
                    : "<th>gate</th><th>mean</th><th>deviation</th>");
    add_gate_rows(p);
    page_table_end(p->t);
}

/* == Routes =============================================================== */

static void add_route_cells(const Page *p, const Probe *x, int route) {
    cell(p, "%.1f", 100 * x->routed[route]);
    cell(p, "%.4g", x->taken_rms[route]);
    cell(p, "%.4g", x->other_rms[route]);
}

static void add_route_rows(const Page *p) {
    for (int i = 0; i < p->x->routes; i++) {
        text_add(p->t, "<tr><th scope=\"row\">");
        svg_escaped(p->t, strata_routed(p->x->m, i));
        text_add(p->t, "</th>");
        add_route_cells(p, p->x, i);
        if (p->before) add_route_cells(p, p->before, i);
        text_add(p->t, "</tr>\n");
    }
}

static void add_routes(const Page *p) {
    const Probe *x = p->x, *b = p->before;
    if (!x->routes) return;
    page_heading(
        p->t, "Routes",
        "Which tokens each routed layer takes, as in training but for what training draws at "
        "random, and the root mean square of the outputs "
        "that the route decides about, at those tokens and at the others, where a bypass may "
        "add something.");
    table(p, "routes",
          b ? "<th>route</th><th>tokens, after, %</th><th>output, taken</th><th>output, "
              "others</th><th>tokens, before, %</th><th>output, taken</th><th>output, others</th>"
            : "<th>route</th><th>tokens, %</th><th>output, taken</th><th>output, others</th>");
    add_route_rows(p);
    page_table_end(p->t);
    text_add(p->t, "<div class=\"figures\">\n");
    add_lines(p, "Tokens that routes take", "over the whole text that was looked at", "route",
              "share", x->routed, b ? b->routed : NULL, x->routes);
    text_add(p->t, "</div>\n");
    if (b) probe_page_passage(b, "Tokens by the number of routes that take them, before", p->t);
    probe_page_passage(x,
                       b ? "Tokens by the number of routes that take them, after"
                         : "Tokens by the number of routes that take them",
                       p->t);
}

/* == Loads ================================================================ */

static void add_spread(const Page *p, const ProbeLoad *x) {
    ProbeSpread s = probe_spread(x);
    cell(p, "%.3f", s.largest), cell(p, "%.3f", s.smallest);
    text_add(p->t, "<td>%lld</td>", (long long)s.zeros);
}

static void add_loads(const Page *p) {
    const Probe *x = p->x, *b = p->before;
    if (!x->loads) return;
    page_heading(p->t, "Loads",
                 "What the rules of buffers get: of experts, how many tokens each takes. The "
                 "largest and the smallest over their mean, 1 where all are alike, and how many "
                 "get nothing.");
    table(p, "loads",
          b ? "<th>buffer</th><th>numbers</th><th>largest, after</th><th>smallest</th><th>zeros"
              "</th><th>largest, before</th><th>smallest</th><th>zeros</th>"
            : "<th>buffer</th><th>numbers</th><th>largest</th><th>smallest</th><th>zeros</th>");
    for (int i = 0; i < x->loads; i++) {
        text_add(p->t, "<tr><th scope=\"row\">");
        svg_escaped(p->t, x->load[i].buffer);
        text_add(p->t, "</th><td>%lld</td>", (long long)x->load[i].count);
        add_spread(p, &x->load[i]);
        if (b) add_spread(p, &b->load[i]);
        text_add(p->t, "</tr>\n");
    }
    page_table_end(p->t);
}

/* == All of it ============================================================ */

static void add_summary(const Page *p, const char *weights, const char *weights_before) {
    text_add(p->t, "<p>Weights ");
    svg_escaped(p->t, weights);
    text_add(p->t, ": loss %.4f nats per token, over %lld tokens.", p->x->loss,
             (long long)p->x->tokens);
    if (p->before) {
        text_add(p->t, " Before, ");
        svg_escaped(p->t, weights_before);
        text_add(p->t, ": %.4f.", p->before->loss);
    }
    text_add(p->t, "</p>\n");
}

void probe_page(const Probe *x, const Probe *before, const char *weights,
                const char *weights_before, Text *t) {
    Page p = { x, before, t };
    const char *name = strata_string(x->m, x->m->name);
    page_open(t);
    svg_escaped(t, name);
    text_add(t, ": probe");
    page_body(t, style);
    svg_escaped(t, name);
    text_add(t, ": what it does inside</h1>\n");
    add_summary(&p, weights, weights_before);
    add_mixings(&p);
    add_tables(&p);
    add_dynamics(&p);
    add_similarities(&p);
    add_gates(&p);
    add_routes(&p);
    add_loads(&p);
    page_close(t);
}
