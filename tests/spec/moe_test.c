/* SPDX-License-Identifier: MIT
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
    bool unbiased;                  /* no balance bias */
    double limit, gate_cap, up_cap; /* 0: none */
    int taps;                       /* of the convolution at the end */
    int width;                      /* of the shared expert, which has a gate; 0: shared * hidden */
} Kind;

static const Kind kinds[] = {
    { 4, 2, 5, 0, 1, 1, false, false, .scale = 1 },
    { 8, 3, 4, 1, 4, 2, false, false, .scale = 2.5 },
    { 12, 4, 3, 2, 3, 2, true, false, .scale = 1 },
    { 6, 1, 5, 0, 6, 4, false, true, .scale = 0.5 },
    { 5, 5, 4, 0, 1, 1, true, true, .scale = 1 },
    { 8, 2, 4, 3, 2, 1, true, true, .scale = 3 },
    { 6, 2, 4, 1, 2, 1, true, false, .scale = 1, .unbiased = true },
    { 4, 2, 5, 1, 1, 1, false, false, .scale = 2, .limit = 0.7 },
    { 4, 2, 5, 0, 1, 1, false, false, .scale = 2, .gate_cap = 0.5, .up_cap = 1.5, .taps = 3 },
    { 4, 1, 5, 0, 1, 1, true, false, .scale = 1, .width = 7 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* An option's text, or nothing for 0. */
static const char *bound(char to[32], const char *name, double value) {
    snprintf(to, 32, value ? ", %s = %.9g" : "", name, value);
    return to;
}

static Model *load(void **state, const Kind *k) {
    char limit[32], gate[32], up[32], taps[32], width[32];
    return scratch_model(
        state,
        "return model { name = 'm', vocab = %d, context = %d, dim = %d, norm = rmsnorm { eps = "
        "1e-6 },\n"
        "layers = { layer { moe { experts = %d, top = %d, hidden = %d, shared = %d, groups = %d, "
        "top_groups = %d, score = '%s', normalize = %s, scale = %.9g%s%s%s%s%s%s%s } } } }",
        V, T, D, k->experts, k->top, k->hidden, k->shared, k->groups, k->top_groups,
        k->softmax ? "softmax" : "sigmoid", k->plain ? "false" : "true", k->scale,
        k->unbiased ? ", balance_bias = false" : "", bound(limit, "limit", k->limit),
        bound(gate, "gate_cap", k->gate_cap), bound(up, "up_cap", k->up_cap),
        bound(taps, "out_conv", k->taps), bound(width, "shared_hidden", k->width),
        k->width ? ", shared_gate = true" : "");
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

static double capped(double x, double cap) { return cap ? cap * tanh(x / cap) : x; }

/* silu(a) b, bounded as the kind says; NULL: not at all. */
static double activated(const Kind *k, double a, double b) {
    if (!k) return a / (1 + exp(-a)) * b;
    if (k->limit) a = fmin(a, k->limit), b = fmax(fmin(b, k->limit), -k->limit);
    return capped(a, k->gate_cap) / (1 + exp(-a)) * capped(b, k->up_cap);
}

typedef struct Mlp {
    const double *gate, *up, *down;
    int hidden;
} Mlp;

/* y += weight * down(activated(gate x, up x)) */
static void add_mlp(const Kind *k, Mlp m, const double *x, double weight, double *y) {
    for (int f = 0; f < m.hidden; f++) {
        double a = 0, b = 0;
        for (int i = 0; i < D; i++)
            a += m.gate[f * D + i] * x[i], b += m.up[f * D + i] * x[i];
        double h = activated(k, a, b);
        for (int i = 0; i < D; i++)
            y[i] += weight * m.down[i * m.hidden + f] * h;
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

static void add_shared(const Kind *k, const Case *c, const double *x, double *y) {
    double z = 0;
    for (int i = 0; k->width && i < D; i++)
        z += value(c, "layers.0.mlp.shared.share.weight")[i] * x[i];
    add_mlp(NULL,
            (Mlp){ value(c, "layers.0.mlp.shared.gate.weight"),
                   value(c, "layers.0.mlp.shared.up.weight"),
                   value(c, "layers.0.mlp.shared.down.weight"),
                   k->width ? k->width : k->shared * k->hidden },
            x, k->width ? 1 / (1 + exp(-z)) : 1, y);
}

static void moe(const Kind *k, const Case *c, const double *x, double *y, double *load) {
    double s[MOST], biased[MOST], sum = 0;
    bool taken[MOST] = { false };
    const double *bias = k->unbiased ? NULL : value(c, "layers.0.mlp.router.balance_bias");
    const double *gate = value(c, "layers.0.mlp.experts.*.gate.weight"),
                 *up = value(c, "layers.0.mlp.experts.*.up.weight"),
                 *down = value(c, "layers.0.mlp.experts.*.down.weight");
    int size = k->hidden * D;
    scores(k, value(c, "layers.0.mlp.router.weight"), x, s);
    for (int e = 0; e < k->experts; e++)
        biased[e] = s[e] + (bias ? bias[e] : 0);
    if (k->groups > 1) drop_groups(k, biased);
    for (int i = 0; i < k->top; i++)
        taken[best_of(biased, k->experts, taken)] = true;
    for (int e = 0; e < k->experts; e++)
        if (taken[e]) sum += s[e], load[e]++;
    for (int e = 0; e < k->experts; e++)
        if (taken[e])
            add_mlp(k, (Mlp){ gate + e * size, up + e * size, down + e * size, k->hidden }, x,
                    k->scale * s[e] / (k->plain ? 1 : sum + 1e-20), y);
    if (k->shared || k->width) add_shared(k, c, x, y);
}

/* What the sublayer makes of token t of all; taps reach back in its sequence. */
static void sublayer(const Kind *k, const Case *c, int t, double *out, double *load) {
    const double *embed = value(c, "embed.weight");
    double ignored[MOST] = { 0 };
    memset(out, 0, D * sizeof *out);
    for (int back = k->taps ? k->taps - 1 : 0; back >= 0; back--) {
        double x[D], y[D] = { 0 };
        if (t % T < back) continue;
        rms(embed + c->tokens[t - back] * D, value(c, "layers.0.mlp.norm.weight"), x);
        moe(k, c, x, y, back ? ignored : load);
        for (int i = 0; i < D; i++) {
            const double *w = k->taps ? value(c, "layers.0.mlp.out_conv.weight") : NULL;
            out[i] += w ? w[i * k->taps + k->taps - 1 - back] * y[i] : y[i];
            if (w && !back) out[i] = (out[i] + y[i]) / sqrt(k->taps + 1);
        }
    }
}

static void logits_by_definition(const Kind *k, const Case *c, int t, double *out, double *load) {
    const double *embed = value(c, "embed.weight"), *e = embed + c->tokens[t] * D;
    double h[D], y[D];
    sublayer(k, c, t, h, load);
    for (int i = 0; i < D; i++)
        h[i] += e[i];
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
        const Node *statistic = graph_find(m->graph, "statistic.layers.0.mlp.router.balance_bias");
        const double *counted = statistic ? eval_value(ev, statistic) : NULL;
        assert_true(!counted == kinds[i].unbiased);
        double load[MOST] = { 0 };
        for (int t = 0; t < 2 * T; t++) {
            double want[V];
            logits_by_definition(&kinds[i], c, t, want, load);
            for (int v = 0; v < V; v++)
                if (!(fabs(got[t * V + v] - want[v]) <= 1e-10))
                    fail_msg("kind %d, token %d: logit %d is %.12g, expected %.12g", i, t, v,
                             got[t * V + v], want[v]);
        }
        for (int e = 0; counted && e < kinds[i].experts; e++)
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

/* == Slopes =============================================================== */

/* Scores that underflow, of experts that are not chosen too. */
static void scores_far_below_zero_have_slopes(void **state) {
    static const char *const score[] = { "sigmoid", "softmax", "sqrt_softplus" };
    for (int i = 0; i < 3; i++) {
        Model *m = scratch_model(
            state,
            "return model { name = 'm', vocab = %d, context = %d, dim = %d, norm = rmsnorm {},\n"
            "layers = { layer { moe { experts = 4, top = 2, hidden = 5, score = '%s', "
            "router_scale = 1e5 } } } }",
            V, T, D, score[i]);
        Case *c = case_new(m->graph, 3, 2, T, V, -1.5, 1.5);
        assert_true(isfinite(case_gradient_error(c, op_info)));
        case_free(c);
        spec_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_far_below_zero_have_slopes),
        cmocka_unit_test(every_option_is_its_definition),
        cmocka_unit_test(the_bias_follows_its_rule),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
