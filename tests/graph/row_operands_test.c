/* SPDX-License-Identifier: MIT
** Operands that want a row of each token, given what is the same for all: every operand of every
** op that takes such a one, on shapes of every kind, with its gradient against finite differences.
*/
#include "test.h"

#include "numeric.h"
#include "op_example.h"

enum { BATCH = 2, TIME = 3, MOST = 16 };

static Node *node_of(const Graph *g, Op op) {
    for (int i = g->n; i-- > 0;)
        if (g->node[i]->op == op) return g->node[i];
    return NULL;
}

/* The node with a parameter for operand i; NULL: it takes none there. */
static Node *of_parameter(Node *x, int i) {
    Node *in[MOST];
    const char *error;
    Shape s = x->in[i]->shape;
    if (s.lead != LEAD_TOKENS || s.type != F32) return NULL;
    for (int k = 0; k < x->nin; k++)
        in[k] = x->in[k];
    s.lead = LEAD_NONE, s.list = 0;
    in[i] = example_operand(x->g, s);
    Node *n = node_new(x->g, x->op, x->nin, in, *x->attr, &error);
    if (n) return n; /* as it is */
    in[i] = op_as_rows(x->op, x->nin, in, i);
    if (!in[i]) return NULL;
    assert_int_equal(in[i]->shape.lead, LEAD_TOKENS);
    return node_new(x->g, x->op, x->nin, in, *x->attr, &error);
}

/* The gradient's error; -1: there is nothing to ask. */
static double error_of(Op op, int variant, int operand, bool *any) {
    Graph *g = graph_new();
    Random r = { 100u * (unsigned)op + (unsigned)variant };
    double error = -1;
    *any = op_example(g, op, variant) != NULL;
    Node *x = *any ? node_of(g, op) : NULL, *n = NULL;
    if (x && x->nin <= MOST && operand < x->nin) n = of_parameter(x, operand);
    if (n) {
        graph_output(g, "loss", weighted_sum(n, &r));
        Case *c = case_new(g, 9, BATCH, TIME, VOCAB, -1, 1);
        error = case_gradient_error(c, op_info);
        case_free(c);
    }
    graph_free(g);
    return error;
}

/* Whose operand i must be taken. */
static const struct {
    Op op;
    int operand;
} must[] = {
    { OP_attention, 0 },  { OP_attention, 1 },  { OP_attention, 2 },     { OP_attention, 3 },
    { OP_recurrence, 0 }, { OP_recurrence, 1 }, { OP_recurrence, 2 },    { OP_recurrence, 3 },
    { OP_recurrence, 4 }, { OP_pick, 0 },       { OP_place, 0 },         { OP_gather, 0 },
    { OP_conv, 0 },       { OP_conv, 1 },       { OP_expert_linear, 0 }, { OP_cross_entropy, 0 },
};

static void parameters_are_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof must / sizeof *must; i++) {
        int tried = 0;
        bool any = true;
        for (int v = 0; any; v++) {
            double error = error_of(must[i].op, v, must[i].operand, &any);
            if (error > GRADIENT_TOLERANCE)
                fail_msg("%s, operand %d, example %d: gradient is wrong by %.1e",
                         op_info[must[i].op].name, must[i].operand, v, error);
            tried += error >= 0;
        }
        if (!tried)
            fail_msg("%s takes no parameter for operand %d", op_info[must[i].op].name,
                     must[i].operand);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(parameters_are_taken) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
