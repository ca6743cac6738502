/* SPDX-License-Identifier: MIT
** A probe's findings for the terminal, and as JSON. */
#include "probe.h"

#include <math.h>

#include "console.h"
#include "json.h"

enum { KINDS = 8, SINKS = 16, GATES = 24 };

/* == Terminal ============================================================= */

static void probe_text_add_number(Text *t, int width, double value) {
    char text[32];
    print_text(text, sizeof text, "%s", isfinite(value) ? FIGURES(value, 4) : "-");
    text_add(t, " %*s", width, text);
}

static void probe_text_add_layers(const Probe *x, Text *t) {
    text_add(t, "\n%-16s %12s %14s %17s %14s\n", "layer", "output rms", "gradient norm",
             "loss without it", "cosine before");
    for (int i = 0; i < x->layers; i++) {
        text_add(t, "%-16.16s", x->layer_name[i]);
        probe_text_add_number(t, 12, x->layer_rms[i]);
        probe_text_add_number(t, 14, x->gradient_norm ? x->gradient_norm[i] : NAN);
        char change[32];
        print_text(change, sizeof change, "%+.4f", x->loss_increase[i]);
        text_add(t, " %17s", change);
        probe_text_add_number(t, 14,
                              x->similarity && i ? x->similarity[i * x->layers + i - 1] : NAN);
        text_add(t, "\n");
    }
}

static void add_shares(const Probe *x, Text *t) {
    ProbeShare share[KINDS];
    int n = probe_shares(x, share, KINDS);
    if (!n) return;
    text_add(t, "\n%-16s %12s %14s %17s %14s\n", "weight of reads", "reads", "embedding",
             "newest source", "between");
    for (int i = 0; i < n; i++)
        text_add(t, "%-16.16s %12d %13.1f%% %16.1f%% %13.1f%%\n", share[i].kind, share[i].reads,
                 100 * share[i].embedding, 100 * share[i].diagonal, 100 * share[i].far);
}

static void probe_text_add_sinks(const Probe *x, Text *t) {
    ProbeSink sink[SINKS];
    int n = probe_sinks(x, sink, SINKS);
    if (!x->weight) return;
    text_add(t, "\nsinks, sources that take much weight whatever the input: %s\n", n ? "" : "none");
    for (int i = 0; i < n; i++)
        text_add(t,
                 "  %-24.48s %5.1f%% of later reads' weight, an even share is %.1f%%; varies by "
                 "%.0f%% over tokens\n",
                 x->source_site[sink[i].source], 100 * sink[i].share, 100 * sink[i].even,
                 100 * sink[i].variation);
}

static void add_gates(const Probe *x, Text *t) {
    if (x->gates)
        text_add(t, "\n%-56s %10s %12s\n", "gates, by their Lua line", "mean", "deviation");
    for (int i = 0; i < x->gates && i < GATES; i++) {
        text_add(t, "%-56.90s", x->gate_site[i]);
        probe_text_add_number(t, 10, x->gate_mean[i]);
        probe_text_add_number(t, 12, x->gate_deviation[i]);
        text_add(t, "\n");
    }
    if (x->gates > GATES) text_add(t, "… %d more; --json and -o list all\n", x->gates - GATES);
}

/* Sums over sublayers of one route: 'others' is what a bypass adds. */
static void probe_text_add_routes(const Probe *x, bool colours, Text *t) {
    if (x->routes)
        text_add(t, "\n%-32s %10s %20s %20s\n", "routes, chosen as in training", "tokens, %",
                 "output rms, taken", "others");
    for (int i = 0; i < x->routes; i++) {
        text_add(t, "%-32.32s %10.1f", strata_routed(x->m, i), 100 * x->routed[i]);
        probe_text_add_number(t, 20, x->taken_rms[i]);
        probe_text_add_number(t, 20, x->other_rms[i]);
        text_add(t, "\n");
    }
    probe_print_passage(x, colours, t);
}

static void add_probe(const Probe *x, bool colours, Text *t) {
    text_add(t, "loss %.6f nats per token, over %lld tokens\n", x->loss, (long long)x->tokens);
    probe_text_add_layers(x, t);
    if (probe_all_ones(x)) text_add(t, "\nweights of reads: all ones, by construction\n");
    else add_shares(x, t), probe_text_add_sinks(x, t);
    add_gates(x, t);
    probe_text_add_routes(x, colours, t);
    probe_print_loads(x, t);
}

void probe_print(const Probe *x, const Probe *before, bool colours, Text *t) {
    if (before) {
        text_add(t, "before: ");
        add_probe(before, colours, t);
        text_add(t, "\nafter: ");
    }
    add_probe(x, colours, t);
}

/* == JSON ================================================================= */

static void json_numbers(Text *t, const double *value, int64_t count) {
    text_add(t, "[");
    for (int64_t i = 0; i < count; i++) {
        text_add(t, i ? ", " : "");
        text_json_number(t, value[i]);
    }
    text_add(t, "]");
}

static void json_list(Text *t, const char *key, const double *value, int64_t count) {
    text_add(t, ", \"%s\": ", key);
    if (value) json_numbers(t, value, count);
    else text_add(t, "null");
}

static void json_matrix(Text *t, const char *key, const double *value, int64_t rows,
                        int64_t columns) {
    text_add(t, value ? ", \"%s\": [" : ", \"%s\": null", key);
    for (int64_t i = 0; value && i < rows; i++) {
        text_add(t, i ? ",\n " : "");
        json_numbers(t, value + i * columns, columns);
    }
    text_add(t, value ? "]" : "");
}

static void json_sites(Text *t, const char *key, const char *const *site, const double *rms,
                       int count) {
    text_add(t, ", \"%s\": [", key);
    for (int i = 0; i < count; i++) {
        text_add(t, i ? ", {\"site\": " : "{\"site\": ");
        text_json_string(t, site[i]);
        text_add(t, ", \"rms\": ");
        text_json_number(t, rms[i]);
        text_add(t, "}");
    }
    text_add(t, "]");
}

static void json_gates(Text *t, const Probe *x) {
    text_add(t, ", \"gates\": [");
    for (int i = 0; i < x->gates; i++) {
        text_add(t, i ? ", {\"site\": " : "{\"site\": ");
        text_json_string(t, x->gate_site[i]);
        text_add(t, ", \"mean\": ");
        text_json_number(t, x->gate_mean[i]);
        text_add(t, ", \"deviation\": ");
        text_json_number(t, x->gate_deviation[i]);
        text_add(t, "}");
    }
    text_add(t, "]");
}

static void json_summary(Text *t, const Probe *x) {
    ProbeShare share[KINDS];
    ProbeSink sink[SINKS];
    int shares = probe_shares(x, share, KINDS), sinks = probe_sinks(x, sink, SINKS);
    text_add(t, ", \"shares\": [");
    for (int i = 0; i < shares; i++) {
        text_add(t, i ? ", {\"kind\": " : "{\"kind\": ");
        text_json_string(t, share[i].kind);
        text_add(t, ", \"reads\": %d, \"embedding\": ", share[i].reads);
        text_json_number(t, share[i].embedding);
        text_add(t, ", \"diagonal\": ");
        text_json_number(t, share[i].diagonal);
        text_add(t, ", \"far\": ");
        text_json_number(t, share[i].far);
        text_add(t, "}");
    }
    text_add(t, "], \"sinks\": [");
    for (int i = 0; i < sinks; i++) {
        text_add(t, "%s{\"source\": %d, \"share\": ", i ? ", " : "", sink[i].source);
        text_json_number(t, sink[i].share);
        text_add(t, ", \"even_share\": ");
        text_json_number(t, sink[i].even);
        text_add(t, ", \"variation\": ");
        text_json_number(t, sink[i].variation);
        text_add(t, "}");
    }
    text_add(t, "]");
}

static void json_probe(Text *t, const Probe *x) {
    text_add(t, "\"loss\": ");
    text_json_number(t, x->loss);
    text_add(t, ", \"tokens\": %lld", (long long)x->tokens);
    json_sites(t, "reads", x->read_site, x->read_rms, x->reads);
    json_sites(t, "sources", x->source_site, x->source_rms, x->sources);
    json_sites(t, "layers", x->layer_name, x->layer_rms, x->layers);
    json_matrix(t, "depth_mixing", x->weight, x->reads, x->sources);
    json_matrix(t, "depth_mixing_deviation", x->deviation, x->reads, x->sources);
    json_list(t, "output_norm", x->layer_rms, x->layers);
    json_list(t, "gradient_norm", x->gradient_norm, x->layers);
    json_list(t, "loss_increase", x->loss_increase, x->layers);
    json_matrix(t, "layer_similarity", x->similarity, x->layers, x->layers);
    text_add(t, ", ");
    probe_json_routes(x, "routes", t);
    json_list(t, "routed", x->routed, x->routes);
    json_list(t, "routed_output_norm", x->taken_rms, x->routes);
    json_list(t, "bypassed_output_norm", x->other_rms, x->routes);
    if (x->routes) probe_json_passage(x, t);
    json_gates(t, x);
    probe_json_loads(x, t);
    json_summary(t, x);
}

void probe_json(const Probe *x, const Probe *before, Text *t) {
    text_add(t, "{");
    json_probe(t, x);
    if (before) {
        text_add(t, ",\n\"before\": {");
        json_probe(t, before);
        text_add(t, "}");
    }
    text_add(t, "}\n");
}
