/* SPDX-License-Identifier: MIT
** A comparison for programs.  The keys are a contract: more may be added, none changed. */
#include "comparison.h"
#include "views.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void add_string(Text *t, const char *key, const char *value) {
    text_add(t, "\"%s\": ", key);
    text_json_string(t, value);
}

static void json_add_number(Text *t, const char *key, double value) {
    text_add(t, "\"%s\": ", key);
    text_json_number(t, value);
}

/* {"parameters": 1, ...}; differences are shares of the baseline's number. */
static void add_metrics(const Comparison *c, const Variant *v, bool difference, Text *t) {
    const char *between = "{";
    for (int i = 0; i < compare_nmetric; i++) {
        const Metric *m = &compare_metrics[i];
        double own = m->value(c, v), base = m->value(c, c->variant);
        if (!isfinite(own)) continue;
        text_add(t, "%s", between);
        json_add_number(t, m->key, !difference ? own : own == base ? 0 : own / base - 1);
        between = ", ";
    }
    text_add(t, "}");
}

static void json_add_list(Text *t, const char *key, const double *x, int n) {
    text_add(t, "\"%s\": [", key);
    for (int i = 0; i < n; i++) {
        if (i) text_add(t, ", ");
        text_json_number(t, x[i]);
    }
    text_add(t, "]");
}

/* null where two values would be needed and are not there. */
static void add_estimate(Text *t, const char *key, const Estimate *e) {
    const double none = NAN;
    text_add(t, "\"%s\": {", key);
    json_add_number(t, "mean", e->mean), text_add(t, ", ");
    json_add_number(t, "deviation", e->known ? e->deviation : none), text_add(t, ", ");
    json_add_number(t, "low", e->known ? e->low : none), text_add(t, ", ");
    json_add_number(t, "high", e->known ? e->high : none);
    text_add(t, ", \"detected\": %s}", stats_covers_zero(e) ? "false" : "true");
}

/* By itself a difference may be 'detected' that is none among several comparisons. */
static void add_corrected(const Comparison *c, const Variant *v, Family f, Text *t) {
    json_add_number(t, "corrected_chance", compare_corrected(c, v, f));
    text_add(t, ", \"detected_of_all\": %s, ", compare_detected(c, v, f) ? "true" : "false");
}

/* A row a read. */
static void add_matrix(Text *t, const char *key, const Mixing *x) {
    text_add(t, "\"%s\": [", key);
    for (int r = 0; r < x->size; r++) {
        text_add(t, r ? ",\n    [" : "\n    [");
        for (int s = 0; s < x->size; s++) {
            if (s) text_add(t, ", ");
            text_json_number(t, x->mean[r * x->size + s]);
        }
        text_add(t, "]");
    }
    text_add(t, "]");
}

/* Seconds of every round, and the time against the baseline's as a share. */
static void add_timing(const Comparison *c, const Variant *v, Text *t) {
    if (!c->rounds) return;
    text_add(t, ",\n   \"measured\": {");
    json_add_list(t, "seconds", v->timing.seconds, c->rounds);
    text_add(t, ", ");
    add_estimate(t, "slower", &v->timing.slower);
    text_add(t, ", ");
    add_corrected(c, v, FAMILY_TIME, t);
    json_add_number(t, "peak_gflops", 1e-9 * v->timing.peak), text_add(t, ", ");
    json_add_number(t, "bandwidth_gbytes_per_second", 1e-9 * v->timing.bandwidth);
    text_add(t, "}");
}

static void add_run(const Comparison *c, const TrainRun *r, uint64_t seed, Text *t) {
    text_add(t, "    {\"seed\": %" PRIu64 ", ", seed);
    json_add_list(t, "cross_entropy", r->loss, c->steps);
    text_add(t, ", ");
    json_add_list(t, "seconds", r->seconds, c->steps);
    text_add(t, ", \"evaluation_step\": [");
    for (int i = 0; i < r->evaluations; i++)
        text_add(t, i ? ", %d" : "%d", r->step[i]);
    text_add(t, "], ");
    json_add_list(t, "val_loss", r->value, r->evaluations);
    if (r->routed)
        text_add(t, ", "), json_add_list(t, "routed", r->routed, c->steps), text_add(t, ", "),
            json_add_list(t, "routes", r->route, r->routes);
    text_add(t, "}");
}

/* The validation loss of each rate, and which is taken. */
static void add_sweep(const Comparison *c, const Variant *v, Text *t) {
    for (int i = 0; i < c->rates; i++) {
        text_add(t, i ? "}, {" : "\"sweep\": [{");
        json_add_number(t, "lr", c->rate[i]), text_add(t, ", ");
        json_add_number(t, "val_loss", v->swept[i]);
    }
    if (c->rates) text_add(t, "}], "), json_add_number(t, "lr", v->lr), text_add(t, ", ");
}

/* Routes that took hardly a token at the end. */
static void add_idle(const Comparison *c, const Variant *v, Text *t) {
    double share;
    int some = 0;
    text_add(t, ", \"idle_routes\": [");
    for (int i = 0; (i = compare_idle_route(c, v, i, &share)) < v->run->routes; i++) {
        text_add(t, some++ ? ", {\"site\": " : "{\"site\": ");
        text_json_string(t, compare_route_site(v, i));
        text_add(t, ", "), json_add_number(t, "share", share), text_add(t, "}");
    }
    text_add(t, "]");
}

static void add_training(const Comparison *c, const Variant *v, Text *t) {
    if (!c->text) return;
    TrainingResult x = compare_trained(c, v);
    text_add(t, ",\n   \"trained\": {");
    add_estimate(t, "validation_loss", &x.end), text_add(t, ", ");
    add_estimate(t, "best_validation_loss", &x.end), text_add(t, ", "); /* its former name */
    add_estimate(t, "difference", &x.difference), text_add(t, ", ");
    add_corrected(c, v, FAMILY_LOSS, t);
    json_add_number(t, "seeds_that_would_show_it", x.needed ? x.needed : NAN), text_add(t, ", ");
    json_add_number(t, "difference_that_seeds_can_show", x.shown), text_add(t, ", ");
    add_sweep(c, v, t);
    add_estimate(t, "seconds_to_match", &x.seconds);
    if (isfinite(x.routed.mean))
        text_add(t, ", "), add_estimate(t, "routed", &x.routed), text_add(t, ", "),
            json_add_number(t, "flops_per_token", compare_executed(c, v)), add_idle(c, v, t);
    text_add(t, ", \"seeds_that_matched\": %d, \"times_measured\": %s, \"runs\": [\n", x.matched,
             compare_times_measured(c) ? "true" : "false");
    for (int s = 0; s < c->seeds; s++) {
        if (s) text_add(t, ",\n");
        add_run(c, &v->run[s], c->seed[s], t);
    }
    text_add(t, "]");
    if (v->trained) text_add(t, ",\n    "), add_matrix(t, "depth_mixing", v->trained);
    text_add(t, "}");
}

static void json_add_variant(const Comparison *c, const Variant *v, Text *t) {
    text_add(t, "  {");
    add_string(t, "name", v->label);
    text_add(t, ",\n   \"numbers\": ");
    add_metrics(c, v, false, t);
    text_add(t, ",\n   \"difference\": ");
    add_metrics(c, v, true, t);
    add_timing(c, v, t);
    add_training(c, v, t);
    text_add(t, ",\n   \"inspect\": ");
    report_json(v->report, t);
    text_add(t, "  }");
}

static void add_role_work(const RoleWork *w, Text *t) {
    if (!w->kernels) {
        text_add(t, "null");
        return;
    }
    text_add(t, "{\"kernels\": %d, \"count\": %d, ", w->kernels, w->work[TRAINING].calls);
    json_add_number(t, "flops", w->work[TRAINING].flops);
    text_add(t, ", ");
    json_add_number(t, "bytes", w->work[TRAINING].bytes);
    if (isfinite(w->seconds)) {
        text_add(t, ", "), json_add_number(t, "seconds", w->seconds);
        text_add(t, ", "), json_add_number(t, "spread", w->spread);
    }
    if (isfinite(w->slower.mean)) text_add(t, ", "), add_estimate(t, "slower", &w->slower);
    text_add(t, "}");
}

/* One entry a variant in 'variants'; null: it has none. */
static void add_roles(const Comparison *c, Text *t) {
    int n;
    Role *role = compare_roles(c, &n);
    if (!role) t->failed = true;
    text_add(t, " \"kernels\": [");
    for (int k = 0; role && k < n; k++) {
        text_add(t, k ? ",\n  {" : "\n  {");
        add_string(t, "name", role[k].name);
        text_add(t, ", ");
        add_string(t, "family", role[k].family);
        text_add(t, ", \"differs\": %s, \"variants\": [",
                 role_differs(c, &role[k]) ? "true" : "false");
        for (int i = 0; i < c->n; i++) {
            if (i) text_add(t, ", ");
            add_role_work(&role[k].of[i], t);
        }
        text_add(t, "]}");
    }
    text_add(t, "]");
    free(role);
}

/* null: not known */
static void add_circumstances(const Comparison *c, Text *t) {
    const Circumstances *made = &c->made;
    text_add(t, "\"made\": {");
    add_string(t, "date", made->date), text_add(t, ", ");
    add_string(t, "processor", made->processor);
    text_add(t, ", \"processors\": %d, \"threads\": %d, ", made->processors, c->threads);
    json_add_number(t, "load", made->processors ? made->load : NAN), text_add(t, ", ");
    json_add_number(t, "load_after", made->processors ? made->after : NAN), text_add(t, ", ");
    json_add_number(t, "validation_share", c->val_share), text_add(t, ", \"files\": [");
    for (int i = 0; i < made->files; i++) {
        text_add(t, i ? ",\n  {" : "\n  {");
        add_string(t, "name", made->file[i].name);
        text_add(t, ", \"bytes\": %" PRId64 ", \"validation\": %s, ", made->file[i].bytes,
                 made->file[i].validation ? "true" : "false");
        add_string(t, "sha256", made->file[i].sha256);
        text_add(t, "}");
    }
    text_add(t, "]}");
}

void compare_json(const Comparison *c, Text *t) {
    Text verdict = { 0 }, ranking = { 0 };
    compare_ranking(c, &ranking);
    compare_verdict(c, &verdict);
    if (verdict.failed || ranking.failed) t->failed = true;
    if (verdict.length) verdict.at[verdict.length - 1] = 0; /* its last line end */
    text_add(t, "{");
    add_string(t, "strata", STRATA_VERSION);
    text_add(t, ", ");
    add_string(t, "baseline", c->variant->label);
    text_add(t, ",\n ");
    add_string(t, "command", c->command);
    text_add(t, ",\n ");
    add_circumstances(c, t);
    text_add(t, ",\n ");
    add_string(t, "ranking", ranking.at ? ranking.at : ""), text_add(t, ",\n ");
    add_string(t, "verdict", verdict.at ? verdict.at : "");
    text_add(t, ",\n \"variants\": [\n");
    for (int i = 0; i < c->n; i++) {
        if (i) text_add(t, ",\n");
        json_add_variant(c, &c->variant[i], t);
    }
    text_add(t, "],\n");
    add_roles(c, t);
    text_add(t, "}\n");
    text_free(&verdict), text_free(&ranking);
}
