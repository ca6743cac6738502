/*
** The library's moe against its definition written once more, plainly: scores, groups, weights,
** experts and the shared one, of every option; and the rule of the balance bias.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numeric.h"
#include "scratch_spec.h"

enum { T = 9, V = 13, D = 6, MOST = 12 };

typedef struct Kind {
    int experts, top, hidden, shared, groups, top_groups;
    bool softmax, plain;
    double scale;
} Kind;

static const Kind kinds[] = {
    { 4, 2, 5, 0, 1, 1, false, false, 1 }, { 8, 3, 4, 1, 4, 2, false, false, 2.5 },
    { 12, 4, 3, 2, 3, 2, true, false, 1 }, { 6, 1, 5, 0, 6, 4, false, true, 0.5 },
    { 5, 5, 4, 0, 1, 1, true, true, 1 },   { 8, 2, 4, 3, 2, 1, true, true, 3 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static Model *load(void **state, const Kind *k) {
    return scratch_model(
        state,
        "return model { name = 'm', vocab = %d, context = %d, dim = %d, norm = rmsnorm { eps = "
        "1e-6 },\n"
        "layers = { layer { moe { experts = %d, top = %d, hidden = %d, shared = %d, groups = %d, "
        "top_groups = %d, score = '%s', normalize = %s, scale = %.9g } } } }",
        V, T, D, k->experts, k->top, k->hidden, k->shared, k->groups, k->top_groups,
        k->softmax ? "softmax" : "sigmoid", k->plain ? "false" : "true", k->scale);
}

static double *value(const Case *c, const char *name) {
    for (int i = 0; i < c->g->nparam; i++)
        if (!strcmp(c->g->param[i].node->attr->name, name)) return c->value[i];
    fail_msg("there is no %s", name);
    return NULL;
}

/* == The definition ======================================================= */

static void rms(const double *x, const double *w, double *y) {
    double sum = 0;
    for (int i = 0; i < D; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < D; i++)
        y[i] = w[i] * x[i] / sqrt(sum / D + 1e-6);
}

/* y += weight * down(silu(gate x) * up x) */
static void add_mlp(const double *gate, const double *up, const double *down, int hidden,
                    const double *x, double weight, double *y) {
    for (int f = 0; f < hidden; f++) {
        double a = 0, b = 0;
        for (int i = 0; i < D; i++)
            a += gate[f * D + i] * x[i], b += up[f * D + i] * x[i];
        double h = a / (1 + exp(-a)) * b;
        for (int i = 0; i < D; i++)
            y[i] += weight * down[i * hidden + f] * h;
    }
}

/* The place of the largest that is not taken yet, the earlier of equal ones. */
static int best_of(const double *x, int count, const bool *taken) {
    int best = -1;
    for (int i = 0; i < count; i++)
        if (!taken[i] && (best < 0 || x[i] > x[best])) best = i;
    return best;
}

static void drop_groups(const Kind *k, double *s) {
    int size = k->experts / k->groups;
    double group[MOST];
    bool stays[MOST] = { false };
    for (int g = 0; g < k->groups; g++) {
        bool taken[MOST] = { false };
        int first = best_of(s + g * size, size, taken);
        taken[first] = true;
        int second = size > 1 ? best_of(s + g * size, size, taken) : -1;
        group[g] = s[g * size + first] + (second < 0 ? 0 : s[g * size + second]);
    }
    for (int i = 0; i < k->top_groups; i++)
        stays[best_of(group, k->groups, stays)] = true;
    for (int e = 0; e < k->experts; e++)
        if (!stays[e / size]) s[e] = -INFINITY;
}

static void scores(const Kind *k, const double *router, const double *x, double *s) {
    double total = 0;
    for (int e = 0; e < k->experts; e++) {
        double z = 0;
        for (int i = 0; i < D; i++)
            z += router[e * D + i] * x[i];
        s[e] = k->softmax ? exp(z) : 1 / (1 + exp(-z));
        total += s[e];
    }
    for (int e = 0; k->softmax && e < k->experts; e++)
        s[e] /= total;
}

static void moe(const Kind *k, const Case *c, const double *x, double *y, double *load) {
    double s[MOST], biased[MOST], sum = 0;
    bool taken[MOST] = { false };
    const double *bias = value(c, "layers.0.mlp.router.balance_bias");
    const double *gate = value(c, "layers.0.mlp.experts.*.gate.weight"),
                 *up = value(c, "layers.0.mlp.experts.*.up.weight"),
                 *down = value(c, "layers.0.mlp.experts.*.down.weight");
    int size = k->hidden * D;
    scores(k, value(c, "layers.0.mlp.router.weight"), x, s);
    for (int e = 0; e < k->experts; e++)
        biased[e] = s[e] + bias[e];
    if (k->groups > 1) drop_groups(k, biased);
    for (int i = 0; i < k->top; i++)
        taken[best_of(biased, k->experts, taken)] = true;
    for (int e = 0; e < k->experts; e++)
        if (taken[e]) sum += s[e], load[e]++;
    for (int e = 0; e < k->experts; e++)
        if (taken[e])
            add_mlp(gate + e * size, up + e * size, down + e * size, k->hidden, x,
                    k->scale * s[e] / (k->plain ? 1 : sum + 1e-20), y);
    if (k->shared)
        add_mlp(value(c, "layers.0.mlp.shared.gate.weight"),
                value(c, "layers.0.mlp.shared.up.weight"),
                value(c, "layers.0.mlp.shared.down.weight"), k->shared * k->hidden, x, 1, y);
}

static void logits_by_definition(const Kind *k, const Case *c, int t, double *out, double *load) {
    const double *embed = value(c, "embed.weight"), *e = embed + c->tokens[t] * D;
    double x[D], h[D], y[D];
    rms(e, value(c, "layers.0.mlp.norm.weight"), x);
    memcpy(h, e, sizeof h);
    moe(k, c, x, h, load);
    rms(h, value(c, "final_norm.weight"), y);
    for (int v = 0; v < V; v++) {
        out[v] = 0;
        for (int i = 0; i < D; i++)
            out[v] += embed[v * D + i] * y[i];
    }
}

static void every_option_is_its_definition(void **state) {
    for (int i = 0; i < KINDS; i++) {
        Model *m = load(state, &kinds[i]);
        Case *c = case_new(m->graph, 3 + (uint64_t)i, 2, T, V, -1.5, 1.5);
        EvalInput in = case_input(c);
        Eval *ev = eval_new(m->graph, &in);
        const double *got = eval_value(ev, graph_find(m->graph, "logits"));
        const double *counted =
            eval_value(ev, graph_find(m->graph, "statistic.layers.0.mlp.router.balance_bias"));
        double load[MOST] = { 0 };
        for (int t = 0; t < 2 * T; t++) {
            double want[V];
            logits_by_definition(&kinds[i], c, t, want, load);
            for (int v = 0; v < V; v++)
                if (!(fabs(got[t * V + v] - want[v]) <= 1e-10))
                    fail_msg("kind %d, token %d: logit %d is %.12g, expected %.12g", i, t, v,
                             got[t * V + v], want[v]);
        }
        for (int e = 0; e < kinds[i].experts; e++)
            assert_true(counted[e] == load[e]);
        eval_free(ev);
        case_free(c);
        spec_free(m);
    }
}

/* == The balance bias ===================================================== */

static const double bias[] = { 0.5, -0.25, 0, 0.125 }, loads[] = { 3, 7, 4, 4 };

static const double *old_value(void *user, const Node *n) { return (void)user, (void)n, bias; }
static const double *statistic(void *user, const Node *n) { return (void)user, (void)n, loads; }

/* sign(mean load - load) is 1, -1, 1, 1: each less their mean. */
static void the_bias_follows_its_rule(void **state) {
    static const double moves[] = { 0.5, -1.5, 0.5, 0.5 };
    Model *m = load(state, &kinds[0]);
    assert_non_null(m->rules);
    EvalInput in = { .batch = 1,
                     .time = 1,
                     .tokens = (int32_t[]){ 0 },
                     .param = old_value,
                     .statistic = statistic };
    Eval *ev = eval_new(m->rules, &in);
    const double *next = eval_value(ev,
                                    graph_find(m->rules, "grad.layers.0.mlp.router.balance_bias"));
    for (int e = 0; e < 4; e++)
        assert_true(fabs(next[e] - (bias[e] + 1e-3 * moves[e])) < 1e-15);
    eval_free(ev);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_its_definition),
        cmocka_unit_test(the_bias_follows_its_rule),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
