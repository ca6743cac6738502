/* SPDX-License-Identifier: MIT
** Every row of ops.def, the moment it exists: its gradient against finite
** differences, on shapes of every kind, and whether a wrong rule would show.
*/
#include "test.h"

#include <math.h>

#include "passes.h"
#include "numeric.h"
#include "op_example.h"

enum { BATCH = 2, TIME = 3 };

/* Draws points away from where an op jumps or bends: |x| in [0.2, 2]. */
static void avoid_kinks(Case *c, bool positive) {
    for (int i = 0; i < c->g->nparam; i++) {
        int64_t count = shape_count(&c->g->param[i].node->shape);
        for (int64_t k = 0; k < count; k++) {
            double v = c->value[i][k];
            if (fabs(v) < 0.2) c->value[i][k] = v < 0 ? v - 0.2 : v + 0.2;
            if (positive) c->value[i][k] = fabs(c->value[i][k]);
        }
    }
}

/* The error for one example, or -1 if there is no such example. */
static double error_of(Op op, int variant, const OpInfo *rules) {
    Graph *g = graph_new();
    Random r = { 1000u * (unsigned)op + (unsigned)variant };
    Node *y = op_example(g, op, variant);
    double error = -1;
    if (y) {
        bool positive = op_info[op].class == POINTWISE && needs_positive(op);
        graph_output(g, "loss", weighted_sum(y, &r));
        Case *c = case_new(g, r.state, BATCH, TIME, VOCAB, -2, 2);
        avoid_kinks(c, positive);
        error = case_gradient_error(c, rules);
        case_free(c);
    }
    graph_free(g);
    return error;
}

static void gradients_are_right(void **state) {
    (void)state;
    for (int op = 0; op < NOP; op++) {
        int variant = 0;
        for (double error; (error = error_of((Op)op, variant, op_info)) >= 0; variant++)
            if (!(error <= GRADIENT_TOLERANCE))
                fail_msg("%s, example %d: gradient is wrong by %.1e", op_info[op].name, variant,
                         error);
        if (!variant) fail_msg("%s has no example", op_info[op].name);
    }
}

/* Which operands' cotangents matter is asked of the rules: those not NULL. */
static bool has_cotangent(Op op, int operand) {
    Graph *g = graph_new();
    Node *n = op_example(g, op, 1), *dy[MAXRESULT] = { NULL }, *dx[8] = { NULL };
    bool has = false;
    if (n && n->op == op && op_info[op].class != SIDE && operand < n->nin) {
        dy[0] = op_full(g, &n->shape, 1);
        op_info[op].vjp(n, dy, dx);
        has = dx[operand] != NULL && !(op == OP_after && operand); /* zeros */
    }
    graph_free(g);
    return has;
}

static void wrong_rules_are_noticed(void **state) {
    (void)state;
    int tried = 0;
    for (int op = 0; op < NOP; op++)
        for (int k = 0; k < 3; k++) {
            OpInfo rules[NOP];
            double worst = 0;
            if (!has_cotangent((Op)op, k)) continue;
            wrong_rules(rules, (Op)op, k);
            for (int v = 0; v < 16; v++)
                worst = fmax(worst, error_of((Op)op, v, rules));
            if (worst <= GRADIENT_TOLERANCE)
                fail_msg("a wrong gradient of %s for operand %d goes unnoticed", op_info[op].name,
                         k);
            tried++;
        }
    assert_true(tried > 40);
}

/* A list of one: exactly nothing, not nearly. */
static void softmax_of_one_has_no_gradient(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *y = op_softmax(example_operand(g, (Shape){ .rank = 2, .dim = { 1, 4 } }), 0);
    Node *row = example_operand(g, (Shape){ .lead = LEAD_TOKENS, .rank = 1, .dim = { 4 } });
    Random r = { 5 };
    graph_output(g, "loss", weighted_sum(op_mul(y, row), &r));
    pass_gradient(g);
    Case *c = case_new(g, 3, BATCH, TIME, VOCAB, -2, 2);
    EvalInput in = case_input(c);
    Eval *ev = eval_new(g, &in);
    const double *d = eval_value(ev, graph_find(g, "grad.p0"));
    for (int i = 0; i < 4; i++)
        assert_true(d[i] == 0);
    eval_free(ev);
    case_free(c);
    graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_right),
        cmocka_unit_test(wrong_rules_are_noticed),
        cmocka_unit_test(softmax_of_one_has_no_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
