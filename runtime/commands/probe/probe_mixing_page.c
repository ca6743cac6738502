/* SPDX-License-Identifier: MIT
** Depth mixing on a probe's page: pictures of the weights, shares by kind of sublayer, sinks. */
#include "probe.h"

#include <math.h>
#include <stdlib.h>

#include "depth_map.h"
#include "page.h"

enum { KINDS = 8, SINKS = 16 };

/* == Pictures ============================================================= */

typedef struct Mixings {
    const Probe *x;
    const bool *boundary; /* of blocks; NULL: none */
    double scale;
    Text *t;
} Mixings;

static double largest(const Probe *x) {
    double most = 0;
    for (int64_t i = 0; x && x->weight && i < (int64_t)x->reads * x->sources; i++)
        most = fmax(most, fabs(x->weight[i]));
    return most;
}

static void add_map(const Mixings *m, const double *weight, const char *title, const char *note) {
    text_add(m->t, "<figure><figcaption>%s<span>%s</span></figcaption>\n", title, note);
    depth_map(&(DepthMap){ .weight = weight,
                           .size = m->x->sources,
                           .read = m->x->read_site,
                           .scale = m->scale,
                           .boundary = m->boundary },
              m->t);
    text_add(m->t, "</figure>\n");
}

static void add_change(const Mixings *m, const Probe *before) {
    int64_t cells = (int64_t)m->x->reads * m->x->sources;
    double *change = malloc((size_t)cells * sizeof *change);
    if (!change) m->t->failed = true;
    for (int64_t i = 0; change && i < cells; i++)
        change[i] = m->x->weight[i] - before->weight[i];
    if (change) add_map(m, change, "Change", "after less before");
    free(change);
}

static void add_maps(const Mixings *m, const Probe *before) {
    const Probe *x = m->x;
    bool both = before && before->weight;
    text_add(m->t, "<figure class=\"scale\">");
    chart_scale(m->scale, true, m->t);
    text_add(m->t, "</figure>\n<div class=\"figures\">\n");
    if (both) add_map(m, before->weight, "Before", "mean weight over tokens");
    add_map(m, x->weight, both ? "After" : "Weights", "mean weight over tokens");
    if (both) add_change(m, before);
    if (x->deviation)
        add_map(m, x->deviation, "Deviation over tokens",
                "0: the weight is the same whatever the input");
    text_add(m->t, "</div>\n");
}

static void add_mixings(const Probe *x, const Probe *before, Text *t) {
    Mixings m = { .x = x, .scale = fmax(largest(x), largest(before)), .t = t };
    page_heading(t, "Depth mixing", depth_map_note);
    if (!(m.scale > 0) || !x->weight || x->reads != x->sources) {
        text_add(t,
                 "<p>Not measured: the model has too many sublayers, or its reads take no sources "
                 "linearly.</p>\n");
        return;
    }
    bool *boundary = calloc((size_t)x->sources, sizeof *boundary);
    if (!boundary) t->failed = true;
    else if (depth_blocks(x->weight, x->sources, PROBE_ALIKE, boundary)) m.boundary = boundary;
    add_maps(&m, before);
    free(boundary);
}

/* == Tables =============================================================== */

static void mixing_page_table(Text *t, const char *label, const char *head) {
    page_table(t, label);
    text_add(t, "<thead><tr>%s</tr></thead><tbody>\n", head);
}

static void add_share_rows(const Probe *x, const char *when, Text *t) {
    ProbeShare share[KINDS];
    int n = x ? probe_shares(x, share, KINDS) : 0;
    for (int i = 0; i < n; i++) {
        text_add(t, "<tr><th scope=\"row\">");
        svg_escaped(t, share[i].kind);
        text_add(t, "%s</th><td>%d</td><td>%.1f</td><td>%.1f</td><td>%.1f</td></tr>\n", when,
                 share[i].reads, 100 * share[i].embedding, 100 * share[i].diagonal,
                 100 * share[i].far);
    }
}

static void add_shares(const Probe *x, const Probe *before, Text *t) {
    ProbeShare share[KINDS];
    if (!probe_shares(x, share, KINDS)) return;
    page_heading(t, "Where reads take their weight from",
                 "Shares of absolute weight in percent, by the kind of sublayer that reads: the "
                 "embedding, the newest "
                 "source (the diagonal of the matrix), and all between.");
    mixing_page_table(t, "shares of weight",
                      "<th>read by</th><th>reads</th><th>embedding, %</th><th>newest source, "
                      "%</th><th>between, %</th>");
    add_share_rows(before, ", before", t);
    add_share_rows(x, before ? ", after" : "", t);
    page_table_end(t);
}

static void add_sink_rows(const Probe *x, const char *when, Text *t) {
    ProbeSink sink[SINKS];
    int n = x ? probe_sinks(x, sink, SINKS) : 0;
    for (int i = 0; i < n; i++) {
        text_add(t, "<tr><th scope=\"row\">");
        svg_escaped(t, x->source_site[sink[i].source]);
        text_add(t, "%s</th><td>%.1f</td><td>%.1f</td><td>%.0f</td></tr>\n", when,
                 100 * sink[i].share, 100 * sink[i].even, 100 * sink[i].variation);
    }
}

static void page_add_sinks(const Probe *x, const Probe *before, Text *t) {
    ProbeSink sink[SINKS];
    int own = probe_sinks(x, sink, SINKS), other = before ? probe_sinks(before, sink, SINKS) : 0;
    page_heading(
        t, "Sinks",
        "Sources that take at least twice an even share of later reads\xe2\x80\x99 weight, "
        "whatever the input: it varies by less than half over tokens.");
    if (own + other) {
        mixing_page_table(
            t, "sinks",
            "<th>source</th><th>share, %</th><th>even share, %</th><th>variation over tokens, "
            "%</th>");
        add_sink_rows(before, ", before", t);
        add_sink_rows(x, before ? ", after" : "", t);
        page_table_end(t);
    }
    if (before && own + other > 0 && own * other == 0)
        text_add(t, "<p>There %s none %s.</p>\n", own ? "were" : "are", own ? "before" : "after");
    if (own + other == 0)
        text_add(t, "<p>There are none%s.</p>\n", before ? ", before and after" : "");
}

void probe_page_mixing(const Probe *x, const Probe *before, Text *t) {
    if (probe_all_ones(x) && (!before || probe_all_ones(before))) {
        page_heading(t, "Depth mixing", depth_ones_note);
        return;
    }
    add_mixings(x, before, t);
    if (!x->weight) return;
    add_shares(x, before, t);
    page_add_sinks(x, before, t);
}
