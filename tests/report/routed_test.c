/* SPDX-License-Identifier: MIT
** What routes leave of work and cache: by a convention, derived by hand; as executed, the
** numbers that the kernels' costs make; each route's own share; the twin without routes.
*/
#include "test.h"

#include <math.h>
#include <string.h>

#include "routed.h"
#include "views.h"
#include "scratch_spec.h"

/* A layer without a route and one with: width D 128, 4 heads and 2 of keys of 32, hidden 256. */
static Report *report_of(void **state, const char *routes) {
    return scratch_report(
        state, "model.lua", &(ReportOptions){ .routed = true },
        "local layers = {}\n"
        "for _, r in ipairs { false, %s } do\n"
        "  layers[#layers + 1] = layer { attention { heads = 4, kv_heads = 2, rope = {} }, mlp { "
        "hidden = 256, activation = 'relu' }, route = r or nil }\n"
        "end\n"
        "return model { name = 'm', vocab = 64, context = 64, dim = 128, norm = rmsnorm {}, layers "
        "= layers }\n",
        routes);
}

static void close_to(double a, double b) {
    if (!(fabs(a - b) <= 1e-9 * fabs(b))) fail_msg("%.17g is not %.17g", a, b);
}

/*
** A token's products in a layer: q 128 x 128, k and v 64 x 128, o 128 x 128, up and down 256 x 128.
** Attention: 4 heads, 32 + 32 multiply-adds a pair: 512 operations, n x n of them.
*/
enum {
    Q = 2 * 128 * 128,
    K = 2 * 64 * 128,
    V = K,
    O = Q,
    MLP = 2 * 2 * 256 * 128,
    PAIR = 512,
    HEAD = 2 * 64 * 128,
    LAYER = Q + K + V + O + MLP
};

static const double tokens = 300, share = 0.3;

/* Queries and keys of the routed attend; the value, the output and the router, 128 to 64 to 2, are
** everyone's. */
static void attention_by_token(void **state) {
    Report *r = report_of(state, "dtr {}");
    double router = 2 * (64 * 128 + 2 * 64), attention = tokens * PAIR;
    close_to(routed_by_convention(r->dense, routed_published, 300, share),
             tokens * (2 * LAYER + 2 * attention));
    close_to(routed_by_convention(r, routed_published, 300, share),
             tokens
                 * (LAYER + attention + share * (Q + K) + V + O + MLP + router
                    + share * share * attention));
    close_to(routed_by_convention(r, (Convention){ .pairs = 0.5, .head = true }, 300, share),
             tokens
                 * (LAYER + attention / 2 + share * (Q + K) + V + O + MLP + router
                    + share * share * attention / 2 + HEAD));
    report_free(r);
}

/* The whole layer is of the routed; a router, for the gate, and a predictor of one row each. */
static void layers_by_choice(void **state) {
    Report *r = report_of(state, "mod { capacity = 0.25 }");
    double attention = tokens * PAIR, one = 2 * 128;
    close_to(routed_by_convention(r, routed_published, 300, NAN),
             tokens * (LAYER + attention + 0.25 * LAYER + 2 * one + 0.0625 * attention));
    report_free(r);
}

/* Work is a n + b pairs, n (n + 1) / 2 of them: what twice the length takes beyond twice the work
** is b n^2. */
static double of_pairs(const Report *r, int kind, double share) {
    return (routed_executed(r, kind, 600, share) - 2 * routed_executed(r, kind, 300, share))
        / (300.0 * 300);
}

static double of_tokens(const Report *r, int kind, double share) {
    return routed_executed(r, kind, 300, share) / 300 - of_pairs(r, kind, share) * 301 / 2;
}

/* A backward pass takes 4 heads (3 keys, 2 values of 32), twice: 1280 a pair.  The routed see the
** routed, or, while D-LLM is trained, all tokens see them. */
static void executed_pairs_are_of_lists(void **state) {
    static const struct {
        const char *route;
        int training;
    } row[] = { { "dtr {}", 2 }, { "mod { capacity = 0.5 }", 2 }, { "dllm {}", 1 } };
    for (int i = 0; i < 3; i++) {
        Report *r = report_of(state, row[i].route);
        close_to(of_pairs(r, FORWARD, share), PAIR * (1 + share * share));
        close_to(of_pairs(r, TRAINING, share), (PAIR + 1280) * (1 + pow(share, row[i].training)));
        close_to(of_pairs(r->dense, FORWARD, share), 2 * PAIR);
        report_free(r);
    }
}

/* With all tokens it is what a report says of any model, and the twin is the spec without its
** route. */
static void all_tokens_are_the_report_s(void **state) {
    Report *r = report_of(state, "dtr {}"), *plain = report_of(state, "false");
    close_to(routed_executed(r, FORWARD, 64, 1), 64 * r->work[FORWARD].flops);
    close_to(routed_executed(r, TRAINING, 64, 1), 64 * r->work[TRAINING].flops);
    assert_null(plain->dense);
    assert_int_equal(r->dense->model->parameters, plain->model->parameters);
    close_to(r->dense->work[TRAINING].flops, plain->work[TRAINING].flops);
    report_free(r), report_free(plain);
}

/* Products and a few row operations; a training step of D-LLM runs them for every token. */
static void executed_tokens_are_of_lists(void **state) {
    Report *r = report_of(state, "dtr {}");
    double saved = of_tokens(r, FORWARD, 1) - of_tokens(r, FORWARD, 0);
    assert_true(saved > Q + K && saved < 1.05 * (Q + K));
    close_to(of_tokens(r, FORWARD, 1) - of_tokens(r, FORWARD, share), (1 - share) * saved);
    report_free(r);
    r = report_of(state, "dllm {}");
    saved = of_tokens(r, FORWARD, 1) - of_tokens(r, FORWARD, 0);
    assert_true(saved > LAYER && saved < 1.05 * LAYER);
    saved = of_tokens(r, TRAINING, 1) - of_tokens(r, TRAINING, 0);
    assert_true(saved >= 0 && saved < 0.01 * LAYER);
    report_free(r);
}

/* A row is 2 heads of keys and values of 32: 128 numbers. */
static void caches_have_rows_of_the_routed(void **state) {
    static const char *const route[] = { "dtr {}", "mod { capacity = 0.5 }", "dllm {}" };
    for (int i = 0; i < 3; i++) {
        Report *r = report_of(state, route[i]);
        close_to(routed_cache(r, PUBLISHED_BYTES, 300, share), 300 * 256 * (1 + share));
        close_to(routed_cache(r, HELD_BYTES, 300, 1), 300.0 * (double)r->memory.state_per_token);
        close_to(routed_cost(r, 300, share).bytes_of_dense, (1 + share) / 2);
        report_free(r);
    }
}

static void routes_say_their_own_share(void **state) {
    Report *r = report_of(state,
                          "mod { capacity = 0.25 }, dtr {}, dtr { choice = 'skip' }, dtr { choice "
                          "= 'expert', capacity = 0.125 }");
    static const struct {
        const char *site;
        double own;
    } expected[] = {
        { "layers.1", 0.25 },
        { "layers.2.attention", NAN },
        { "layers.3.attention", 0 },
        { "layers.4.attention", 0.125 },
    };
    char text[96];
    int known;
    assert_int_equal(routed_lists(r, &known), 4);
    assert_int_equal(known, 3);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(r->list[i + 1].site, expected[i].site);
        if (isnan(expected[i].own)) assert_true(isnan(r->list[i + 1].own));
        else close_to(r->list[i + 1].own, expected[i].own);
    }
    routed_share_text(r, NAN, text, sizeof text);
    assert_string_equal(text, "as each says, 10 % of the tokens where it does not");
    routed_share_text(r, 0.5, text, sizeof text);
    assert_string_equal(text, "50 % of the tokens");
    double one = PAIR * (1 + 0.25 * 0.25 + 0.1 * 0.1 + 0.125 * 0.125);
    close_to(of_pairs(r, FORWARD, NAN), one);
    /* a layer that chooses among later tokens */
    assert_true(isnan(routed_cache(r, HELD_BYTES, 300, share)));
    report_free(r);
}

/* What nobody reads is no route: numbers have no gaps. */
static void lists_nobody_reads_are_left_out(void **state) {
    Report *r = report_of(state,
                          "route { run = function(r, site, x, body)\n"
                          "  local other, list = rows(reshape(slice(x, 1, 2, 1), {})), "
                          "rows(reshape(slice(x, 1, 1, 1), {}))\n"
                          "  return body(x) + scatter(gather(x, list), list) end } {}");
    int known;
    assert_int_equal(routed_lists(r, &known), 1);
    assert_int_equal(graph_lists(r->model->graph), 1);
    assert_string_equal(r->list[1].site, "layers.1");
    assert_int_equal(r->planned.code.model.routed, 1);
    report_free(r);
}

static double number_in(const Json *j, const JsonNode *in, const char *object, const char *key) {
    double value = NAN;
    const JsonNode *n = json_member(j, in, object);
    if (n && key) n = json_member(j, n, key);
    if (!n || !json_double(n, &value))
        fail_msg("expected a number under %s %s", object, key ? key : "");
    return value;
}

static void json_has_what_is_printed(void **state) {
    Report *r = report_of(state, "mod { capacity = 0.25 }");
    Text t = { 0 }, text = { 0 };
    Json j;
    Error e = { 0 };
    report_json(r, &t);
    assert_int_equal(json_parse(&j, "report", t.at, t.length, 1 << 20, &e), 0);
    const JsonNode *routed = json_member(&j, &j.node[0], "routed"),
                   *costs = json_member(&j, routed, "costs");
    assert_int_equal(json_member(&j, routed, "routes")->count, 1);
    assert_int_equal(costs->count, 6);
    int i = 0;
    for (const JsonNode *n = json_first(&j, costs); n; n = json_next(&j, n), i++) {
        int64_t length = (int64_t)number_in(&j, n, "length", NULL);
        RoutedCost c = routed_cost(r, length, NAN);
        assert_int_equal(length, r->asked.length[i]);
        close_to(number_in(&j, n, "flops", "published"), c.flops[COUNT_PUBLISHED]);
        close_to(number_in(&j, n, "flops_of_dense", "executed"), c.flops_of_dense[COUNT_EXECUTED]);
        close_to(number_in(&j, n, "flops_of_dense", "training"), c.flops_of_dense[COUNT_TRAINING]);
        close_to(number_in(&j, n, "cache_bytes", "held"), c.held_bytes);
        close_to(number_in(&j, n, "cache_of_dense", NULL), 0.625);
    }
    report_cost_text(r, &text);
    assert_non_null(strstr(
        text.at,
        "1 route: 25 % of the tokens, as its routes say; against the same spec without routes"));
    assert_non_null(strstr(text.at, "\n       640 "));
    json_free(&j);
    text_free(&t), text_free(&text);
    report_free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attention_by_token, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(layers_by_choice, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(executed_pairs_are_of_lists, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(all_tokens_are_the_report_s, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(executed_tokens_are_of_lists, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(caches_have_rows_of_the_routed, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(routes_say_their_own_share, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(lists_nobody_reads_are_left_out, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(json_has_what_is_printed, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
