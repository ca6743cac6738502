/* A comparison for programs.  The keys are a contract: more may be added, none changed. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>

static void add_string(Text *t, const char *key, const char *value) {
    text_add(t, "\"%s\": ", key);
    text_json_string(t, value);
}

static void add_number(Text *t, const char *key, double value) {
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
        add_number(t, m->key, !difference ? own : own == base ? 0 : own / base - 1);
        between = ", ";
    }
    text_add(t, "}");
}

static void add_variant(const Comparison *c, const Variant *v, Text *t) {
    text_add(t, "  {");
    add_string(t, "name", v->label);
    text_add(t, ",\n   \"numbers\": ");
    add_metrics(c, v, false, t);
    text_add(t, ",\n   \"difference\": ");
    add_metrics(c, v, true, t);
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
    add_number(t, "flops", w->work[TRAINING].flops);
    text_add(t, ", ");
    add_number(t, "bytes", w->work[TRAINING].bytes);
    if (isfinite(w->seconds)) text_add(t, ", "), add_number(t, "seconds", w->seconds);
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
        text_add(t, ", \"differs\": %s, \"variants\": [", role_differs(c, &role[k]) ? "true" : "false");
        for (int i = 0; i < c->n; i++) {
            if (i) text_add(t, ", ");
            add_role_work(&role[k].of[i], t);
        }
        text_add(t, "]}");
    }
    text_add(t, "]");
    free(role);
}

void compare_json(const Comparison *c, Text *t) {
    Text verdict = { 0 };
    compare_verdict(c, &verdict);
    if (verdict.failed) t->failed = true;
    if (verdict.length) verdict.at[verdict.length - 1] = 0;     /* its last line end */
    text_add(t, "{");
    add_string(t, "strata", STRATA_VERSION);
    text_add(t, ", ");
    add_string(t, "baseline", c->variant->label);
    text_add(t, ",\n ");
    add_string(t, "command", c->command);
    text_add(t, ",\n ");
    add_string(t, "verdict", verdict.at ? verdict.at : "");
    text_add(t, ",\n \"variants\": [\n");
    for (int i = 0; i < c->n; i++) {
        if (i) text_add(t, ",\n");
        add_variant(c, &c->variant[i], t);
    }
    text_add(t, "],\n");
    add_roles(c, t);
    text_add(t, "}\n");
    text_free(&verdict);
}
