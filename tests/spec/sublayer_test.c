/* SPDX-License-Identifier: MIT
** Options of attention that the golden cases leave out, as facts: what must
** be equal, what must differ, and YaRN's frequencies by their formula.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "numeric.h"
#include "scratch_spec.h"

enum { T = 7, V = 13 };

static Model *load(void **state, const char *attention) {
    return scratch_model(state,
                         "return model { name = 'm', vocab = 13, context = 7, dim = 16, norm = "
                         "rmsnorm { eps = 0 },\n"
                         "layers = { layer { attention { %s }, mlp { hidden = 8 } } } }",
                         attention);
}

/* Values that depend on the parameter's name only. */
static void fill(double *x, int64_t count, const char *name) {
    uint64_t state = 1;
    for (; *name; name++)
        state = state * 31 + (uint64_t)*name;
    for (int64_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        x[i] = (double)(state >> 33) / 1073741824.0 - 1;
    }
}

static Case *case_of(const Model *m) {
    Case *c = case_new(m->graph, 5, 2, T, V, -1, 1);
    for (int i = 0; i < m->graph->nparam; i++) {
        const Node *n = m->graph->param[i].node;
        fill(c->value[i], shape_count(&n->shape), n->attr->name);
    }
    return c;
}

/* The values of layers.0.attention.NAME. */
static double *value(Case *c, const char *name) {
    char full[100];
    snprintf(full, sizeof full, "layers.0.attention.%s", name);
    for (int i = 0; i < c->g->nparam; i++)
        if (!strcmp(c->g->param[i].node->attr->name, full)) return c->value[i];
    fail_msg("there is no %s", full);
    return NULL;
}

/* The largest difference of two models' logits. */
static double difference(Case *a, Case *b) {
    EvalInput in = case_input(a), other = case_input(b);
    Eval *x = eval_new(a->g, &in), *y = eval_new(b->g, &other);
    const double *p = eval_value(x, graph_find(a->g, "logits")),
                 *q = eval_value(y, graph_find(b->g, "logits"));
    double worst = 0;
    for (int i = 0; i < 2 * T * V; i++)
        worst = fmax(worst, fabs(p[i] - q[i]));
    eval_free(x);
    eval_free(y);
    return worst;
}

/* Two models, changed by 'change' if given. */
static double compare(void **state, const char *one, const char *two,
                      void (*change)(Case *a, Case *b)) {
    Model *m = load(state, one), *n = load(state, two);
    Case *a = case_of(m), *b = case_of(n);
    if (change) change(a, b);
    double worst = difference(a, b), error = case_gradient_error(b, op_info);
    if (!(error <= GRADIENT_TOLERANCE)) fail_msg("%s: gradients are off by %g", two, error);
    case_free(a);
    case_free(b);
    spec_free(m);
    spec_free(n);
    return worst;
}

/* == Rotary positions ===================================================== */

/* Row 2i of a head becomes row i, row 2i + 1 row i + d/2. */
static void permute_rows(double *to, const double *from, int rows, int d, int columns) {
    for (int r = 0; r < rows; r++) {
        int i = r % d, at = r - i + i / 2 + i % 2 * (d / 2);
        memcpy(to + at * columns, from + r * columns, (size_t)columns * sizeof *to);
    }
}

/* a is interleaved, b half */
static void to_bf16(Case *a, Case *b) {
    permute_rows(value(b, "q.weight"), value(a, "q.weight"), 16, 8, 16);
    permute_rows(value(b, "k.weight"), value(a, "k.weight"), 8, 8, 16);
}

static void test_styles(void **state) {
    assert_true(compare(state,
                        "heads = 2, kv_heads = 1, rope = { theta = 50, style = 'interleaved' }",
                        "heads = 2, kv_heads = 1, rope = { theta = 50 }", to_bf16)
                < 1e-12);
    assert_true(compare(state, "heads = 2, rope = { theta = 50 }", "heads = 2", NULL) > 1e-3);
    assert_true(
        compare(state, "heads = 2, rope = { theta = 50 }", "heads = 2, rope = { theta = 51 }", NULL)
        > 1e-6);
}

/* By the formulas of the YaRN paper, hd = 8, theta = 100, s = 4, L0 = 64. */
static void test_yarn(void **state) {
    Model *m = load(state,
                    "heads = 2, rope = { theta = 100, yarn = { factor = 4, original = 64, "
                    "beta_fast = 8, beta_slow = 2 } }");
    double edge[2], beta[2] = { 8, 2 };
    for (int i = 0; i < 2; i++)
        edge[i] = 8 * log(64 / (2 * acos(-1.0) * beta[i])) / (2 * log(100));
    double low = fmax(floor(edge[0]), 0), high = fmin(ceil(edge[1]), 7);
    int waves = 0;
    for (int i = 0; i < m->graph->n; i++) {
        const Node *n = m->graph->node[i];
        if (n->op != OP_wave) continue;
        waves++;
        assert_int_equal(n->attr->count, 4);
        assert_true(fabs(n->attr->value - (0.1 * log(4) + 1)) < 1e-15);
        for (int k = 0; k < 4; k++) {
            double plain = pow(100, -2.0 * k / 8),
                   ramp = fmin(fmax((k - low) / (high - low), 0), 1);
            assert_true(fabs(n->attr->frequency[k] - (plain / 4 * ramp + plain * (1 - ramp)))
                        < 1e-15);
        }
    }
    assert_int_equal(waves, 2);
    assert_true(low < high && low < 3 && high > 0);
    spec_free(m);
}

/* Frequencies divided one by one, out of the list that the context chooses, hd = 8, theta = 100;
** cos and sin times sqrt(1 + ln s / ln L0), s what is given or context / L0, or 1 below that. */
static void check_longrope(void **state, const char *more, const double *divisor, double scale) {
    char options[256];
    (void)snprintf(options, sizeof options,
                   "heads = 2, rope = { theta = 100, longrope = { short = { 1, 2, 3, 4 }, "
                   "long = { 5, 6, 7, 8 }, %s } }",
                   more);
    Model *m = load(state, options);
    int seen = 0;
    for (int i = 0; i < m->graph->n; i++) {
        const Node *n = m->graph->node[i];
        if (n->op != OP_wave) continue;
        seen++;
        assert_true(fabs(n->attr->value - scale) < 1e-15);
        for (int k = 0; k < 4; k++)
            assert_true(fabs(n->attr->frequency[k] - pow(100, -2.0 * k / 8) / divisor[k]) < 1e-15);
    }
    assert_int_equal(seen, 2);
    spec_free(m);
}

static void test_longrope(void **state) {
    static const double near[] = { 1, 2, 3, 4 }, far[] = { 5, 6, 7, 8 };
    check_longrope(state, "original = 16", near, 1);
    check_longrope(state, "original = 16, factor = 4", near, sqrt(1 + log(4) / log(16)));
    check_longrope(state, "original = 16, attention_factor = 0.5", near, 0.5);
    check_longrope(state, "original = 4", far, sqrt(1 + log(T / 4.0) / log(4)));
}

/* == Norms, biases, masks ================================================= */

static void scale_queries(Case *a, Case *b) {
    for (int i = 0; i < 16 * 16; i++)
        value(b, "q.weight")[i] = 3 * value(a, "q.weight")[i];
    for (int i = 0; i < 16 * 16; i++)
        value(b, "k.weight")[i] = 0.5 * value(a, "k.weight")[i];
}

static void test_qk_norm(void **state) {
    assert_true(
        compare(state, "heads = 2, qk_norm = true", "heads = 2, qk_norm = true", scale_queries)
        < 1e-12);
    assert_true(compare(state, "heads = 2", "heads = 2", scale_queries) > 1e-3);
    Model *m = load(state, "heads = 4, kv_heads = 2, qk_norm = true");
    Case *c = case_of(m);
    for (int i = 0; i < m->graph->nparam; i++)
        if (strstr(m->graph->param[i].node->attr->name, "q_norm"))
            assert_int_equal(m->graph->param[i].node->shape.dim[0], 4);
    value(c, "k_norm.weight");
    case_free(c);
    spec_free(m);
}

static void no_biases(Case *a, Case *b) {
    static const char *const name[] = { "q.bias", "k.bias", "v.bias", "o.bias" };
    (void)a;
    for (int i = 0; i < 4; i++)
        memset(value(b, name[i]), 0, 16 * sizeof(double));
}

/* Only k's: it adds the same to all scores of a query, unless rope turns it. */
static void key_bias(Case *a, Case *b) {
    double keep[16];
    memcpy(keep, value(b, "k.bias"), sizeof keep);
    no_biases(a, b);
    memcpy(value(b, "k.bias"), keep, sizeof keep);
}

static void test_biases(void **state) {
    assert_true(compare(state, "heads = 2", "heads = 2, bias = true", no_biases) < 1e-14);
    assert_true(compare(state, "heads = 2", "heads = 2, bias = true", key_bias) < 1e-12);
    assert_true(compare(state, "heads = 2", "heads = 2, bias = true", NULL) > 1e-3);
}

/* == What shapes scores =================================================== */

static void low_sinks(Case *a, Case *b) {
    (void)a;
    for (int h = 0; h < 2; h++)
        value(b, "sinks")[h] = -1e4;
}

/* Without queries and with a window of one, a token's own score is 0 and the only one. */
static void quarters(Case *a, Case *b) {
    memset(value(a, "q.weight"), 0, 16 * 16 * sizeof(double));
    memset(value(b, "q.weight"), 0, 16 * 16 * sizeof(double));
    for (int i = 0; i < 16 * 16; i++)
        value(a, "o.weight")[i] /= 4;
    for (int h = 0; h < 2; h++)
        value(b, "sinks")[h] = log(3);
}

static void half_queries(Case *a, Case *b) {
    for (int i = 0; i < 16 * 16; i++)
        value(a, "q.weight")[i] = value(b, "q.weight")[i] / 2;
}

static void test_shapes(void **state) {
    assert_true(compare(state, "heads = 2", "heads = 2, window = 7", NULL) < 1e-14);
    assert_true(compare(state, "heads = 2", "heads = 2, window = 6", NULL) > 1e-6);
    assert_true(compare(state, "heads = 2", "heads = 2, sinks = true", low_sinks) < 1e-12);
    assert_true(
        compare(state, "heads = 2, window = 1", "heads = 2, window = 1, sinks = true", quarters)
        < 1e-12);
    assert_true(compare(state, "heads = 2", "heads = 2, softcap = 1e7", NULL) < 1e-9);
    assert_true(compare(state, "heads = 2", "heads = 2, softcap = 0.5", NULL) > 1e-3);
    assert_true(compare(state, "heads = 4, scale = 1", "heads = 4, scale = 0.5", half_queries)
                < 1e-12);
    assert_true(compare(state, "heads = 2, rope = {}", "heads = 2, rope = { dims = 8 }", NULL)
                < 1e-14);
    assert_true(compare(state, "heads = 2, rope = {}", "heads = 2, rope = { dims = 4 }", NULL)
                > 1e-3);
}

/* == Sizes and routes ===================================================== */

static void test_head_sizes(void **state) {
    Model *m = load(state, "heads = 3, head_dim = 4");
    assert_int_equal(m->parameters, 13 * 16 + 16 * 3 + 4 * 12 * 16 + 3 * 8 * 16);
    spec_free(m);
    assert_true(compare(state, "heads = 2, causal = false", "heads = 2", NULL) > 1e-3);
}

/* == Routes of one's own ================================================== */

static Model *load_route(void **state, const char *run) {
    return scratch_model(state,
                         "local own = route { options = { weight = 0.5 }, run = function(r, site, "
                         "x, body) %s end }\n"
                         "local parts = layer { attention { heads = 2 }, mlp { hidden = 8 }, route "
                         "= own { weight = 2 } }\n"
                         "return model { name = 'm', vocab = 13, context = 7, dim = 16, norm = "
                         "rmsnorm { eps = 0 },\n"
                         "layers = { parts } }",
                         run);
}

static double number(const Eval *ev, const Graph *g, const char *output) {
    return eval_value(ev, graph_find(g, output))[0];
}

/* A route that only calls the layer is no route; a gated one has parameters
** and a loss of its own, averaged over tokens. */
static void test_routes(void **state) {
    Model *plain = load(state, "heads = 2"), *same = load_route(state, "return body(x)");
    Model *gated = load_route(state,
                              "local p = sigmoid(r:linear(site, 'router', x, 1, true)) "
                              "return x + p * (body(x) - x), r.options.weight * reshape(p, {})");
    Case *a = case_of(plain), *b = case_of(same), *c = case_of(gated);
    assert_true(difference(a, b) == 0);
    assert_true(difference(a, c) > 1e-3);
    assert_int_equal(gated->parameters, plain->parameters + 17);
    EvalInput in = case_input(c);
    Eval *ev = eval_new(gated->graph, &in);
    double more = number(ev, gated->graph, "loss") - number(ev, gated->graph, "cross_entropy");
    assert_true(more > 0.2 && more < 1.8);
    eval_free(ev);
    assert_true(case_gradient_error(c, op_info) <= GRADIENT_TOLERANCE);
    case_free(a), case_free(b), case_free(c);
    spec_free(plain), spec_free(same), spec_free(gated);
}

/* == Heads of one's own =================================================== */

static Model *with_exits(void **state, const char *loss) {
    return scratch_model(
        state,
        "local exits = sublayer { name = 'exits', forward = function(m, site, x)\n"
        "  local y = m:linear(site, 'w', x, m.dim) return y%s end }\n"
        "local plain = mixer { prenorm = function(m, site) return site.layer > 0 "
        "end, open = function(m, e) return { h = e } end,\n"
        "  read = function(m, s) return s.h end, write = function(m, s, site, out) "
        "return { h = out } end, close = function(m, s) return s.h end }\n"
        "return model { name = 'm', vocab = 13, context = 7, dim = 16, norm = "
        "rmsnorm { eps = 1e-3 }, final_norm = false, residual = plain {},\n"
        "layers = times(2, layer { exits {} }) }",
        loss);
}

/* The last layer's output is what the head gets: its own loss is the model's once more. The norm is
** that of the second site alone. */
static void test_heads(void **state) {
    Model *plain = with_exits(state, ""), *twice = with_exits(state, ", site.layer * m:nll(y)"),
          *later = with_exits(state, ", m:nll(shift(y, 1))");
    Case *c = case_of(twice), *d = case_of(later);
    assert_int_equal(plain->parameters, 13 * 16 + 2 * 16 * 16 + 16);
    assert_int_equal(twice->parameters, plain->parameters);
    EvalInput in = case_input(c);
    Eval *ev = eval_new(twice->graph, &in);
    double once = number(ev, twice->graph, "cross_entropy");
    assert_true(fabs(number(ev, twice->graph, "loss") - 2 * once) < 1e-12);
    eval_free(ev);
    assert_true(case_gradient_error(c, op_info) <= GRADIENT_TOLERANCE);
    assert_true(case_gradient_error(d, op_info) <= GRADIENT_TOLERANCE);
    case_free(c), case_free(d);
    spec_free(plain), spec_free(twice), spec_free(later);
}

/* == Values of an earlier layer =========================================== */

static double *mix_of_values(Case *c) {
    for (int i = 0; i < c->g->nparam; i++)
        if (!strcmp(c->g->param[i].node->attr->name, "layers.1.attention.value_mix"))
            return c->value[i];
    fail_msg("there is no mix of values");
    return NULL;
}

static Model *two_layers(void **state, const char *attention) {
    return scratch_model(state,
                         "return model { name = 'm', vocab = 13, context = 7, dim = 16, norm = "
                         "rmsnorm { eps = 0 },\n"
                         "layers = times(2, layer { attention { heads = 2%s } }) }",
                         attention);
}

/* Of its own values alone a layer is as if nothing had been kept; of the first layer's alone its
** own values have no weight. */
static void test_value_residual(void **state) {
    Model *plain = two_layers(state, ""), *mixed = two_layers(state, ", value_residual = true");
    Case *a = case_of(plain), *b = case_of(mixed), *c = case_of(mixed);
    double *mix = mix_of_values(b), *other = mix_of_values(c);
    mix[0] = 0.7, mix[1] = -0.4;
    assert_true(case_gradient_error(b, op_info) <= GRADIENT_TOLERANCE);
    assert_true(difference(a, b) > 1e-3);
    mix[0] = 1, mix[1] = 0;
    assert_true(difference(a, b) < 1e-12);
    mix[0] = other[0] = 0, mix[1] = other[1] = 1;
    for (int i = 0; i < c->g->nparam; i++)
        if (!strcmp(c->g->param[i].node->attr->name, "layers.1.attention.v.weight"))
            c->value[i][0] += 1;
    assert_true(difference(b, c) == 0);
    case_free(a);
    case_free(b);
    case_free(c);
    spec_free(plain);
    spec_free(mixed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_styles),     cmocka_unit_test(test_yarn),
        cmocka_unit_test(test_longrope),   cmocka_unit_test(test_qk_norm),
        cmocka_unit_test(test_biases),     cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_head_sizes), cmocka_unit_test(test_routes),
        cmocka_unit_test(test_heads),      cmocka_unit_test(test_value_residual),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
