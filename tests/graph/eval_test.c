/* SPDX-License-Identifier: MIT
** The float64 interpreter: values that are known without it, and which of
** them it keeps.
*/
#include "test.h"

#include <math.h>

#include "graph.h"

#define U(rank_, ...) ((Shape){ .rank = rank_, .dim = { __VA_ARGS__ } })
#define T(rank_, ...) ((Shape){ .lead = LEAD_TOKENS, .rank = rank_, .dim = { __VA_ARGS__ } })

static Node *build(Graph *g, Op op, int nin, Node **in, Attr attr) {
    const char *error;
    Node *n = node_new(g, op, nin, in, attr, &error);
    if (!n) fail_msg("%s: %s", op_info[op].name, error);
    return n;
}

/* == Known values ========================================================= */

static const double *no_params(void *user, const Node *p) {
    (void)user, (void)p;
    return NULL;
}

static const int32_t some_ids[] = { 2, 0, 1, 1, 3, 2 };

static void check(Graph *g, Node *y, const double *want, int count) {
    EvalInput in = { .batch = 2,
                     .time = 3,
                     .tokens = some_ids,
                     .targets = some_ids,
                     .param = no_params,
                     .seed = 3,
                     .keep = true };
    Eval *ev = eval_new(g, &in);
    const double *got = eval_value(ev, y);
    for (int i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-14))
            fail_msg("%s: element %d is %.17g, not %.17g", op_info[y->op].name, i, got[i], want[i]);
    eval_free(ev);
    graph_free(g);
}

/* [n] first, first + 1, ... as a node */
static Node *iota(Graph *g, int n, double first) {
    Node *part[32];
    for (int i = 0; i < n; i++)
        part[i] = op_full(g, &U(1, 1), first + i);
    return op_concat(g, n, part, 0);
}

static Node *iota2(Graph *g, int64_t rows, int64_t columns, double first) {
    return op_reshape(iota(g, (int)(rows * columns), first), &U(2, rows, columns));
}

/* For each token its id, as a number. */
static Node *id_value(Graph *g) { return op_embed(iota2(g, 4, 1, 0), op_source(g, OP_tokens)); }

static void sources_have_their_values(void **state) {
    (void)state;
    Graph *g = graph_new();
    check(g, op_source(g, OP_position), (double[]){ 0, 1, 2, 0, 1, 2 }, 6);
    g = graph_new();
    check(g, op_source(g, OP_tokens), (double[]){ 2, 0, 1, 1, 3, 2 }, 6);
    g = graph_new();
    check(g, op_source(g, OP_per_token), (double[]){ 1.0 / 6 }, 1);
    g = graph_new();
    check(g, op_source(g, OP_seed), (double[]){ 3 }, 1);
    g = graph_new();
    check(g, id_value(g), (double[]){ 2, 0, 1, 1, 3, 2 }, 6);
    g = graph_new();
    static const double frequency[] = { 1, 0.5 };
    Node *position = op_source(g, OP_position);
    Node *sine = build(g, OP_wave, 1, &position,
                       (Attr){ .value = 2, .sine = true, .count = 2, .frequency = frequency });
    check(g, sine, (double[]){ 0, 0, 2 * sin(1), 2 * sin(0.5), 2 * sin(2), 2 * sin(1), 0, 0 }, 8);
}

static void views_move_elements(void **state) {
    (void)state;
    Graph *g = graph_new();
    check(g, op_transpose(iota2(g, 2, 3, 0), (int[]){ 1, 0 }), (double[]){ 0, 3, 1, 4, 2, 5 }, 6);
    g = graph_new();
    check(g, op_slice(iota2(g, 2, 3, 0), 1, 1, 2), (double[]){ 1, 2, 4, 5 }, 4);
    g = graph_new();
    Node *both[] = { iota2(g, 2, 1, 10), iota2(g, 2, 2, 0) };
    check(g, op_concat(g, 2, both, 1), (double[]){ 10, 0, 1, 11, 2, 3 }, 6);
    g = graph_new();
    Node *mixed[] = { iota(g, 1, 7), id_value(g) };
    check(g, op_stack(g, 2, mixed), (double[]){ 7, 2, 7, 0, 7, 1, 7, 1, 7, 3, 7, 2 }, 12);
}

static void reductions_add_up(void **state) {
    (void)state;
    Graph *g = graph_new();
    check(g, op_sum(iota2(g, 2, 3, 0), 0), (double[]){ 3, 5, 7 }, 3);
    g = graph_new();
    check(g, op_peak(iota2(g, 2, 3, -9), 1), (double[]){ -7, -4 }, 2);
    g = graph_new();
    check(g, op_token_sum(id_value(g)), (double[]){ 9 }, 1);
    g = graph_new();
    check(g, op_softmax(op_mul(iota(g, 2, 0), op_fill(g, log(3))), 0), (double[]){ 0.25, 0.75 }, 2);
    g = graph_new(); /* 1000 and 1001 overflow if not shifted */
    double e = exp(1);
    check(g, op_softmax(iota(g, 2, 1000), 0), (double[]){ 1 / (1 + e), e / (1 + e) }, 2);
}

/* By hand: [1 3; 2 2] by rows [1/4 3/4; 1/2 1/2], by columns [1/3 3/5; 2/3 2/5]. */
static void sinkhorn_divides_rows_then_columns(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *part[] = { op_full(g, &U(1, 1), 1), op_full(g, &U(1, 1), 3), op_full(g, &U(1, 2), 2) };
    Node *x = op_reshape(op_concat(g, 3, part, 0), &U(2, 2, 2));
    check(g, build(g, OP_sinkhorn, 1, &x, (Attr){ .count = 1 }),
          (double[]){ 1.0 / 3, 3.0 / 5, 2.0 / 3, 2.0 / 5 }, 4);
    g = graph_new();
    x = iota2(g, 2, 2, 1);
    double a = sqrt(2 / 3.0), p = a / (1 + a); /* in the end a b / (c d) is what it was: 2 / 3 */
    check(g, build(g, OP_sinkhorn, 1, &x, (Attr){ .count = 1000 }),
          (double[]){ p, 1 - p, 1 - p, p }, 4);
}

static void products_contract(void **state) {
    (void)state;
    Graph *g = graph_new(); /* x = id, w = [[1],[2]] */
    check(g, op_linear(id_value(g), iota2(g, 2, 1, 1)),
          (double[]){ 2, 4, 0, 0, 1, 2, 1, 2, 3, 6, 2, 4 }, 12);
    g = graph_new();
    check(g, op_linear_back(id_value(g), iota2(g, 1, 2, 1)),
          (double[]){ 2, 4, 0, 0, 1, 2, 1, 2, 3, 6, 2, 4 }, 12);
    g = graph_new(); /* the sum of squared ids */
    check(g, op_linear_weight(id_value(g), id_value(g)), (double[]){ 19 }, 1);
    g = graph_new();
    Node *onto[] = { id_value(g), iota2(g, 1, 1, 5), id_value(g) };
    check(g, build(g, OP_linear, 3, onto, (Attr){ 0 }), (double[]){ 12, 0, 6, 6, 18, 12 }, 6);
    g = graph_new(); /* dy = 1 per token: how often each id comes */
    Node *ones = op_full(g, &T(1, 1), 1), *in[] = { ones, op_source(g, OP_tokens) };
    check(g, build(g, OP_embed_weight, 2, in, (Attr){ .count = 4 }), (double[]){ 1, 2, 2, 1 }, 4);
}

static void the_loss_is_log_softmax(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *logits = op_full(g, &T(1, 4), 0.5), *targets = op_source(g, OP_targets);
    Node *nll = build(g, OP_cross_entropy, 2, (Node *[]){ logits, targets }, (Attr){ 0 });
    check(g, nll, (double[]){ log(4), log(4), log(4), log(4), log(4), log(4) }, 6);
    g = graph_new();
    logits = op_full(g, &T(1, 4), 0.5);
    targets = op_source(g, OP_targets);
    nll = build(g, OP_cross_entropy, 2, (Node *[]){ logits, targets }, (Attr){ 0 });
    Node *in[] = { logits, op_side(nll, 1), targets, op_full(g, &T(0), 2) };
    check(g, build(g, OP_cross_entropy_grad, 4, in, (Attr){ 0 }),
          (double[]){ 0.5, 0.5, -1.5, 0.5, -1.5, 0.5, 0.5, 0.5 }, 8);
}

/* With q = 0 every visible token has the same weight: v's running mean; two
** query heads share one key head. */
static void attention_averages(void **state) {
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        Graph *g = graph_new();
        Node *q = op_full(g, &T(2, 2, 1), 0), *k = op_full(g, &T(2, 1, 1), 1);
        Node *v = op_reshape(id_value(g), &U(2, 1, 1));
        Node *o = build(g, OP_attention, 3, (Node *[]){ q, k, v },
                        (Attr){ .value = 1, .causal = causal });
        const double seen[] = { 2, 2, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2 };
        const double all[] = { 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2 };
        check(g, o, causal ? seen : all, 12);
    }
}

static void attention_follows_scores(void **state) {
    (void)state;
    Graph *g = graph_new(); /* q = k = v = id, first sequence 2 0 1 */
    Node *x = op_reshape(id_value(g), &U(2, 1, 1));
    Node *o = build(g, OP_attention, 3, (Node *[]){ x, x, x },
                    (Attr){ .value = 0.5, .causal = true });
    double a = exp(0.5 * 2), b = 1, c = exp(0.5);
    check(g, o, (double[]){ 2, 1, (2 * a + 0 * b + c) / (a + b + c), 1 }, 4);
}

/* == Book-keeping ========================================================= */

static const double *two(void *user, const Node *n) {
    (void)n;
    return user;
}

static void values_are_kept_where_asked(void **state) {
    (void)state;
    static const int32_t ids[] = { 0, 1, 1 };
    double value = 2;
    const char *error;
    Graph *g = graph_new();
    Node *x = graph_param(g, "x", U(0), (Init){ 0 }, &error);
    Node *middle = op_exp(x), *y = op_log(middle);
    Node *logits = op_full(g, &T(1, 2), 0), *targets = op_source(g, OP_targets);
    Node *nll = node_new(g, OP_cross_entropy, 2, (Node *[]){ logits, targets }, (Attr){ 0 },
                         &error);
    graph_output(g, "y", y);
    graph_output(g, "lse", op_side(nll, 1));
    EvalInput in = {
        .batch = 1, .time = 3, .tokens = ids, .targets = ids, .param = two, .user = &value
    };
    Eval *ev = eval_new(g, &in);
    assert_true(eval_value(ev, y)[0] == 2);
    assert_null(eval_value(ev, middle));
    assert_non_null(eval_value(ev, graph_find(g, "lse")));
    eval_free(ev);
    in.targets = NULL; /* what needs them is left out */
    in.keep = true;
    ev = eval_new(g, &in);
    assert_true(eval_value(ev, y)[0] == 2);
    assert_non_null(eval_value(ev, middle));
    assert_null(eval_value(ev, nll));
    assert_null(eval_value(ev, graph_find(g, "lse")));
    eval_free(ev);
    graph_free(g);
}

static void decisions_can_be_frozen(void **state) {
    (void)state;
    double value = 2;
    Graph *g = graph_new();
    const char *error;
    Node *x = graph_param(g, "x", U(0), (Init){ 0 }, &error);
    graph_output(g, "y", op_mul(op_stop_gradient(x), op_add(x, op_step(x))));
    EvalInput in = { .batch = 1, .time = 1, .param = two, .user = &value, .keep = true };
    Eval *base = eval_new(g, &in);
    assert_true(eval_value(base, graph_find(g, "y"))[0] == 6);
    in.frozen = base;
    value = -5;
    Eval *moved = eval_new(g, &in);
    assert_true(eval_value(moved, graph_find(g, "y"))[0] == 2 * (-5 + 1));
    eval_free(moved), eval_free(base);
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_have_their_values),
        cmocka_unit_test(views_move_elements),
        cmocka_unit_test(reductions_add_up),
        cmocka_unit_test(products_contract),
        cmocka_unit_test(the_loss_is_log_softmax),
        cmocka_unit_test(attention_averages),
        cmocka_unit_test(attention_follows_scores),
        cmocka_unit_test(values_are_kept_where_asked),
        cmocka_unit_test(decisions_can_be_frozen),
        cmocka_unit_test(sinkhorn_divides_rows_then_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
