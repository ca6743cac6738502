/* SPDX-License-Identifier: MIT
** Random graphs: are their gradients right, do they survive being printed and
** read, is a wrong rule noticed.  STRATA_FUZZ_SEED and STRATA_FUZZ_COUNT run
** others; a failure prints the seed and the graph.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz_graph.h"
#include "passes.h"
#include "graph_file.h"
#include "numeric.h"
#include "setting.h"

enum { OPS = 25 };

static uint64_t first_seed(void) { return setting("STRATA_FUZZ_SEED", 1); }
static uint64_t count(void) { return setting("STRATA_FUZZ_COUNT", 60); }

static double error_of(Graph *g, uint64_t seed, const OpInfo *rules) {
    Case *c = case_new(g, seed, 2, FUZZ_CONTEXT - 1, FUZZ_VOCAB, -1.5, 1.5);
    double error = case_gradient_error(c, rules);
    case_free(c);
    return error;
}

static void gradients_agree(void **state) {
    (void)state;
    for (uint64_t i = 0; i < count(); i++) {
        uint64_t seed = first_seed() + i;
        Graph *g = fuzz_graph(seed, OPS);
        graph_verify(g);
        double error = error_of(g, seed, op_info);
        if (!(error <= GRADIENT_TOLERANCE)) {
            graph_print(g, stderr, false);
            fail_msg("seed %llu: gradient is wrong by %.1e", (unsigned long long)seed, error);
        }
        graph_free(g);
    }
}

static void printing_and_reading_is_the_identity(void **state) {
    (void)state;
    for (uint64_t i = 0; i < count(); i++) {
        char error[200] = "";
        Graph *g = fuzz_graph(first_seed() + i, OPS);
        pass_gradient(g);
        char *once = graph_printed(g, true);
        Graph *again = graph_read(once, error, sizeof error);
        if (!again) fail_msg("seed %llu: %s", (unsigned long long)(first_seed() + i), error);
        graph_verify(again);
        char *twice = graph_printed(again, true);
        assert_string_equal(once, twice);
        free(once), free(twice);
        graph_free(g), graph_free(again);
    }
}

/* A generator that never draws an op tests nothing about it. */
static void every_op_is_drawn(void **state) {
    (void)state;
    bool seen[NOP] = { false };
    for (uint64_t seed = 1; seed <= 60; seed++) {
        Graph *g = fuzz_graph(seed, OPS);
        for (int i = 0; i < g->n; i++)
            seen[g->node[i]->op] = true;
        graph_free(g);
    }
    for (int op = 0; op < NOP; op++)
        if (!seen[op] && op != OP_bf16 && op != OP_statistic)
            fail_msg("'%s' was never drawn", op_info[op].name);
}

static void seeds_repeat(void **state) {
    (void)state;
    Graph *a = fuzz_graph(7, OPS), *b = fuzz_graph(7, OPS), *c = fuzz_graph(8, OPS);
    char *ta = graph_printed(a, true), *tb = graph_printed(b, true), *tc = graph_printed(c, true);
    assert_string_equal(ta, tb);
    assert_string_not_equal(ta, tc);
    free(ta), free(tb), free(tc);
    graph_free(a), graph_free(b), graph_free(c);
}

/* Ops that have a gradient, but for operands without one. */
static bool has_gradient(Op op, int operand) {
    Class class = op_info[op].class;
    if (class == SOURCE || class == WAVE || class == SIDE) return false;
    if (class == CHOICE || op == OP_random) return false;
    if (op == OP_gather || op == OP_scatter || op == OP_pick || op == OP_place) return operand == 0;
    if (op == OP_largest || op == OP_chosen) return false;
    if (op == OP_expert_linear || op == OP_expert_linear_back || op == OP_expert_linear_weight)
        return operand < 2;
    if (op == OP_attention_grad || op == OP_cross_entropy_grad || op == OP_sinkhorn_grad)
        return false;
    if (op == OP_peak || op == OP_recurrence_grad) return false;
    if (op == OP_step || op == OP_greater || op == OP_bf16 || op == OP_stop_gradient) return false;
    if (op == OP_after || op == OP_embed || op == OP_embed_weight || op == OP_cross_entropy)
        return operand == 0;
    if (op == OP_select) return operand > 0;
    return operand < (op_info[op].arity < 0 ? 2 : op_info[op].arity);
}

static bool noticed(Op op, int operand) {
    OpInfo rules[NOP];
    wrong_rules(rules, op, operand);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        Graph *g = fuzz_graph(seed, OPS);
        bool wrong = !(error_of(g, seed, rules) <= GRADIENT_TOLERANCE);
        graph_free(g);
        if (wrong) return true;
    }
    return false;
}

static void every_wrong_rule_is_noticed(void **state) {
    (void)state;
    for (int op = 0; op < NOP; op++)
        for (int operand = 0; operand < 3; operand++)
            if (has_gradient((Op)op, operand) && !noticed((Op)op, operand))
                fail_msg("a wrong gradient of '%s' for operand %d goes unnoticed", op_info[op].name,
                         operand);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_agree),
        cmocka_unit_test(printing_and_reading_is_the_identity),
        cmocka_unit_test(every_op_is_drawn),
        cmocka_unit_test(seeds_repeat),
        cmocka_unit_test(every_wrong_rule_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
