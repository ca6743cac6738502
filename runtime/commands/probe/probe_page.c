/* SPDX-License-Identifier: MIT
** A probe as one HTML file (page.h).
*/
#include "probe.h"

#include <math.h>
#include <stdlib.h>

#include "depth_map.h"
#include "page.h"

/* Beside the style of all pages (page.h). */
static const char probe_page_style[] =
    ".first{font-size:1.15em}.grid{min-width:620px}.grid "
    "svg{background:none}th,td{white-space:nowrap}thead "
    "th{white-space:normal}figure.wide{max-width:960px;margin:1em 0}"
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

static void figures(const Page *p, double value) {
    text_add(p->t, "<td>%s</td>", isfinite(value) ? FIGURES(value, 4) : "\xe2\x80\x93");
}

static void probe_page_table(const Page *p, const char *label, const char *head) {
    page_table(p->t, label);
    text_add(p->t, "<thead><tr>%s</tr></thead><tbody>\n", head);
}

/* == Layers =============================================================== */

/* A picture of numbers by layer, source, read or route; 'item': their names, NULL: numbers. */
typedef struct NumberChart {
    const char *title, *note, *across, *up;
    const double *after, *before;
    int count;
    const char *const *item;
    bool bars;
} NumberChart;

static void probe_page_add_numbers(const Page *p, const NumberChart *n) {
    static const char *const name[] = { "after", "before" };
    const double *series[] = { n->after, n->before };
    if (!n->after || n->count < 1) return;
    figure(p, n->title, n->note);
    chart_lines(&(LineChart){ .series = series,
                              .name = name,
                              .nseries = n->before ? 2 : 1,
                              .count = n->count,
                              .label = n->title,
                              .across = n->across,
                              .up = n->up,
                              .zero = true,
                              .bars = n->bars,
                              .item = n->item },
                p->t);
    text_add(p->t, "</figure>\n");
}

/* Short names of sources and reads, as pictures of depth mixing have them. */
typedef struct ShortNames {
    char (*name)[DEPTH_NAME];
    const char **source, **read;
} ShortNames;

static bool open_names(const Probe *x, ShortNames *n) {
    size_t most = (size_t)(x->reads > x->sources ? x->reads : x->sources) + 1;
    *n = (ShortNames){ calloc(most, sizeof *n->name), calloc(most, sizeof *n->source),
                       calloc(most, sizeof *n->read) };
    if (!n->name || !n->source || !n->read) return false;
    depth_names(x->read_site, x->reads, n->name);
    for (int i = 0; i < x->reads; i++)
        n->read[i] = n->name[i];
    for (int i = 0; i < x->sources; i++)
        n->source[i] = i ? n->name[i - 1] : "e";
    return true;
}

static void close_names(ShortNames *n) { free(n->name), free(n->source), free(n->read); }

static void add_sublayers(const Page *p, const ShortNames *n) {
    const Probe *x = p->x, *b = p->before;
    probe_page_add_numbers(p,
                           &(NumberChart){ "Output of a sublayer", "source e is the embedding",
                                           "source", "root mean square", x->source_rms,
                                           b ? b->source_rms : NULL, x->sources, n->source, true });
    probe_page_add_numbers(p,
                           &(NumberChart){ "What sublayers read",
                                           "before their norm; out is the final read", "read by",
                                           "root mean square", x->read_rms, b ? b->read_rms : NULL,
                                           x->reads, n->read, false });
}

static void probe_page_add_layers(const Page *p) {
    const Probe *x = p->x, *b = p->before;
    probe_page_add_numbers(p,
                           &(NumberChart){ "Loss without a layer",
                                           "increase when its outputs are 0", "layer",
                                           "nats per token", x->loss_increase,
                                           b ? b->loss_increase : NULL, x->layers, NULL, true });
    probe_page_add_numbers(p,
                           &(NumberChart){ "Output of a layer", "what its sublayers add", "layer",
                                           "root mean square", x->layer_rms,
                                           b ? b->layer_rms : NULL, x->layers, NULL, true });
    probe_page_add_numbers(p,
                           &(NumberChart){ "Gradients", "of a layer\xe2\x80\x99s parameters",
                                           "layer", "norm", x->gradient_norm,
                                           b ? b->gradient_norm : NULL, x->layers, NULL, true });
}

static void add_dynamics(const Page *p) {
    ShortNames names;
    page_heading(
        p->t, "Layers",
        "Root mean squares over channels and tokens: of a layer that a route gives some tokens "
        "only, over those. Under PreNorm residuals what sublayers read grows with depth, and "
        "with it what they must "
        "add to be heard; mixers over depth bound it.");
    text_add(p->t, "<div class=\"figures\">\n");
    probe_page_add_layers(p);
    if (!open_names(p->x, &names)) p->t->failed = true;
    else add_sublayers(p, &names);
    close_names(&names);
    text_add(p->t, "</div>\n");
}

static void add_similarity(const Page *p, const Probe *x, const char *title) {
    if (!x || !x->similarity) return;
    figure(p, title, "a mean over tokens");
    chart_heat_map(&(HeatMap){ .value = x->similarity,
                               .rows = x->layers,
                               .columns = x->layers,
                               .scale = 1,
                               .label = "cosines of layers",
                               .across = "layer",
                               .down = "layer",
                               .row_said = x->layer_name,
                               .column_said = x->layer_name,
                               .verb = "and" },
                   p->t);
    text_add(p->t, "</figure>\n");
}

static void add_similarities(const Page *p) {
    if (!p->x->similarity) return;
    page_heading(
        p->t, "Similarity of layers",
        "Cosine of two layers\xe2\x80\x99 outputs, a mean over the tokens that both work on.");
    text_add(p->t, "<figure class=\"scale\">");
    chart_scale(1, false, p->t);
    text_add(p->t, "</figure>\n<div class=\"figures\">\n");
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
        figures(p, x->gate_mean[i]), figures(p, x->gate_deviation[i]);
        if (b) figures(p, b->gate_mean[i]), figures(p, b->gate_deviation[i]);
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
    probe_page_table(p, "gates",
                     p->before
                         ? "<th>gate</th><th>mean, after</th><th>deviation, after</th><th>mean, "
                           "before</th><th>deviation, before</th>"
                         : "<th>gate</th><th>mean</th><th>deviation</th>");
    add_gate_rows(p);
    page_table_end(p->t);
}

/* == Routes =============================================================== */

static void add_route_cells(const Page *p, const Probe *x, int route) {
    cell(p, "%.1f", 100 * x->routed[route]);
    figures(p, x->taken_rms[route]);
    figures(p, x->other_rms[route]);
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

/* Few routes have their whole names below their bars, as in the table. */
static void add_route_picture(const Page *p) {
    const Probe *x = p->x, *b = p->before;
    enum { WHOLE = 4 };
    const char **name = calloc((size_t)x->routes, sizeof *name);
    if (!name) p->t->failed = true;
    for (int i = 0; name && i < x->routes; i++)
        name[i] = x->routes > WHOLE ? probe_route(x, i) : strata_routed(x->m, i);
    text_add(p->t, "<div class=\"figures\">\n");
    probe_page_add_numbers(
        p,
        &(NumberChart){ "Tokens that routes take", "over the whole text that was looked at",
                        x->routes > WHOLE ? "route, by its layer" : "route", "share", x->routed,
                        b ? b->routed : NULL, x->routes, name, true });
    text_add(p->t, "</div>\n");
    free(name);
}

static void probe_page_add_routes(const Page *p) {
    const Probe *x = p->x, *b = p->before;
    if (!x->routes) return;
    page_heading(
        p->t, "Routes",
        "Which tokens each routed layer takes, as in training but for what training draws at "
        "random, and the root mean square of the outputs "
        "that the route decides about, at those tokens and at the others, where a bypass may "
        "add something.");
    probe_page_table(
        p, "routes",
        b ? "<th>route</th><th>tokens, after, %</th><th>output, taken</th><th>output, "
            "others</th><th>tokens, before, %</th><th>output, taken</th><th>output, others</th>"
          : "<th>route</th><th>tokens, %</th><th>output, taken</th><th>output, others</th>");
    add_route_rows(p);
    page_table_end(p->t);
    add_route_picture(p);
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
    probe_page_table(
        p, "loads",
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

static void add_texts(const ProbeText *x, Text *t) {
    if (!x->names) return;
    text_add(t, " of ");
    svg_escaped(t, x->name[0]);
    if (x->names > 1) text_add(t, " and %d more", x->names - 1);
}

static void add_headline(const Page *p) {
    Text words = { 0 };
    probe_headline(p->x, &words);
    if (words.failed) p->t->failed = true;
    if (words.length) {
        text_add(p->t, "<p class=\"first\">");
        svg_escaped(p->t, words.at);
        text_add(p->t, ".</p>\n");
    }
    text_free(&words);
}

static void add_summary(const Page *p, const char *weights, const char *weights_before) {
    add_headline(p);
    text_add(p->t, "<p>Weights ");
    svg_escaped(p->t, weights);
    text_add(p->t, ": loss %.4f nats per token, over %lld tokens", p->x->loss,
             (long long)p->x->tokens);
    add_texts(p->x->text, p->t);
    text_add(p->t, ".");
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
    page_body(t, probe_page_style);
    svg_escaped(t, name);
    text_add(t, ": what it does inside</h1>\n");
    add_summary(&p, weights, weights_before);
    probe_page_mixing(x, before, t);
    add_dynamics(&p);
    add_similarities(&p);
    add_gates(&p);
    probe_page_add_routes(&p);
    add_loads(&p);
    page_close(t);
}
