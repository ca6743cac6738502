/* SPDX-License-Identifier: MIT
** Whether the comparison of compiled code with the interpreter would notice:
** a gradient rule that is wrong, a kernel that is wrong, put in on purpose on
** either side, for every op.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "fuzz_rows.h"
#include "small_model.h"
#include "rebuild.h"

enum { GRAPHS = 12, OPS = 25, BATCH = 3, TIME = 9, WHY = 700 };

/* == Mistakes ============================================================= */

static void spoil(Node *n, Node **dy, Node **dx, int operand) {
    op_info[n->op].vjp(n, dy, dx);
    if (operand < n->nin && dx[operand]) dx[operand] = op_scale(dx[operand], 1.02);
}

static void spoil_0(Node *n, Node **dy, Node **dx) { spoil(n, dy, dx, 0); }
static void spoil_1(Node *n, Node **dy, Node **dx) { spoil(n, dy, dx, 1); }
static void spoil_2(Node *n, Node **dy, Node **dx) { spoil(n, dy, dx, 2); }

/* The copy of an op's node is off by a thousandth, in all of its results. */
static Node *off(Rebuild *r, const Node *old, Node **in) {
    Op wrong = *(const Op *)r->user;
    if (op_info[old->op].class == SIDE && old->in[0]->op == wrong)
        return op_scale(op_side(in[0]->in[0], (int)old->attr->first), 1.001);
    return old->op == wrong ? op_scale(rebuild_copy(r, old, in), 1.001) : NULL;
}

static const char *const outputs[] = { "logits", "nll", "cross_entropy", "loss", NULL };

static Graph *with_wrong(const Graph *g, Op op) {
    return rebuild(graph_extract(g, outputs), off, &op);
}

/* == Models, compiled once ================================================ */

typedef struct Right {
    Graph *g;
    Compiled c;
    Instance r;
    Case *values;
} Right;

static Right right[GRAPHS];

/* What random ones have seldom. */
static void read_seldom(Probe *p, Shape s) {
    const char *error;
    Shape two = probe_shape(2, (int64_t[]){ 5, 3 });
    Node *taps[] = { probe_rows(p, s), probe_param(p, two) },
         *matrix[] = { op_exp(probe_rows(p, two)), probe_rows(p, two) };
    probe_read(p, op_tanh(op_shift(taps[0], 2, true)));
    probe_read(p, node_new(p->g, OP_conv, 2, taps, (Attr){ 0 }, &error));
    probe_read(p, node_new(p->g, OP_sinkhorn, 1, matrix, (Attr){ .count = 2 }, &error));
    probe_read(p,
               op_stop_gradient(op_scale(
                   node_new(p->g, OP_sinkhorn_grad, 2, matrix, (Attr){ .count = 2 }, &error), 10)));
}

/* Random ones, and one with every pointwise op and what is drawn seldom. */
static Graph *make(int number) {
    if (number) return fuzz_rows(100 + (uint64_t)number, OPS);
    Probe p = probe_new(1, 8, 4);
    Shape s = probe_shape(1, (int64_t[]){ 5 });
    for (int op = 0; op < NOP; op++) {
        if (!op_is_function((Op)op)) continue;
        const char *error;
        Node *in[] = { probe_rows(&p, s), probe_rows(&p, s), probe_rows(&p, s) };
        for (int i = 0; i < 3 && needs_positive((Op)op); i++)
            in[i] = op_exp(in[i]);
        probe_read(&p, node_new(p.g, (Op)op, op_info[op].arity, in, (Attr){ 0 }, &error));
    }
    read_seldom(&p, s);
    return probe_end(&p, NULL);
}

static int open_all(void **state) {
    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        Right *x = &right[i];
        Graph *g = make(i);
        x->g = graph_extract(g, outputs);
        graph_free(g);
        ModelInfo info = compiled_info(x->g, TIME);
        compiled_open(&x->c, x->g, &info, &(CodegenOptions){ .cpu = "native" });
        instance_open(&x->r, &x->c, BATCH * TIME, 1);
        x->values = compiled_case(x->g, 5, BATCH, TIME, x->c.model->vocab);
        instance_weights(&x->r, x->values);
    }
    return 0;
}

static int close_all(void **state) {
    (void)state;
    for (int i = 0; i < GRAPHS; i++) {
        case_free(right[i].values);
        instance_close(&right[i].r);
        compiled_close(&right[i].c);
        graph_free(right[i].g);
    }
    return 0;
}

static bool agrees(Right *x, Graph *g, const OpInfo *rules) {
    char why[WHY];
    Expected e;
    Case c = *x->values;
    c.g = g;
    expected_open(&e, &c, rules);
    bool good = compiled_agrees(&x->r, &c, &e, why, sizeof why);
    expected_close(&e);
    return good;
}

static bool has(const Graph *g, Op op) {
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->op == op) return true;
    return false;
}

/* == Tests ================================================================ */

static void all_agree_as_they_are(void **state) {
    (void)state;
    for (int i = 0; i < GRAPHS; i++)
        assert_true(agrees(&right[i], right[i].g, op_info));
}

static bool rule_noticed(Op op, int operand) {
    OpInfo rules[NOP];
    memcpy(rules, op_info, sizeof rules);
    rules[op].vjp = operand == 0 ? spoil_0 : operand == 1 ? spoil_1 : spoil_2;
    for (int i = 0; i < GRAPHS; i++)
        if (has(right[i].g, op) && !agrees(&right[i], right[i].g, rules)) return true;
    return false;
}

/* Operands that gradients flow to. */
static int gradients_of_op(Op op) {
    switch (op) {
    case OP_step:
    case OP_greater:
    case OP_bf16:
    case OP_stop_gradient:
    case OP_peak: return 0;
    case OP_gather:
    case OP_scatter:
    case OP_after:
    case OP_embed:
    case OP_cross_entropy:
    case OP_token_sum:
    case OP_sum:
    case OP_sinkhorn:
    case OP_shift:
    case OP_softmax: return 1;
    case OP_concat:
    case OP_stack:
    case OP_conv:
    case OP_linear: return 2;
    case OP_recurrence:
    case OP_attention: return 3;
    default:
        return op_info[op].class == POINTWISE || op_info[op].class == VIEW ? op_info[op].arity : 0;
    }
}

static void every_wrong_gradient_rule_is_noticed(void **state) {
    (void)state;
    for (int op = 0; op < NOP; op++)
        for (int k = op == OP_select; k < gradients_of_op((Op)op); k++)
            if (!rule_noticed((Op)op, k))
                fail_msg("a wrong gradient of '%s' for operand %d goes unnoticed", op_info[op].name,
                         k);
}

/* The first model in which the op's mistake shows: what comes of it may be lost on
** the way, in a choice or a flat part of a function.  GRAPHS: none. */
static int kernel_noticed(Op op) {
    for (int i = 0; i < GRAPHS; i++) {
        if (!has(right[i].g, op)) continue;
        Graph *g = with_wrong(right[i].g, op);
        bool noticed = !agrees(&right[i], g, op_info);
        graph_free(g);
        if (noticed) return i;
    }
    return GRAPHS;
}

static bool computes(Op op) {
    Class c = op_info[op].class;
    return (class_is_row(c) && op != OP_bf16) || gradients_of_op(op) > 0;
}

static void every_wrong_result_is_noticed(void **state) {
    (void)state;
    for (int op = 0; op < NOP; op++)
        if (computes((Op)op) && kernel_noticed((Op)op) == GRAPHS)
            fail_msg("a wrong '%s' goes unnoticed", op_info[op].name);
}

/* The other way round: the mistake is compiled in. */
static void a_wrong_kernel_is_noticed(void **state) {
    (void)state;
    static const Op wrong[] = { OP_tanh, OP_sum, OP_attention };
    static const Extent extent[] = { { BATCH, TIME }, { 0 } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int at = kernel_noticed(wrong[i]);
        char why[WHY];
        assert_true(at < GRAPHS);
        Graph *g = with_wrong(right[at].g, wrong[i]);
        CodegenOptions o = { .cpu = "native" };
        ModelInfo info = compiled_info(g, TIME);
        Compiled c;
        Instance r;
        Expected e;
        compiled_open(&c, g, &info, &o);
        instance_open(&r, &c, BATCH * TIME, 1);
        instance_weights(&r, right[at].values);
        expected_open(&e, right[at].values, op_info);
        assert_false(compiled_agrees(&r, right[at].values, &e, why, sizeof why));
        expected_close(&e);
        instance_close(&r);
        compiled_close(&c);
        if (graph_answer(g, 5, &o, extent, why, sizeof why) != AGREES)
            fail_msg("%s: %s", op_info[wrong[i]].name, why);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_agree_as_they_are),
        cmocka_unit_test(every_wrong_gradient_rule_is_noticed),
        cmocka_unit_test(every_wrong_result_is_noticed),
        cmocka_unit_test(a_wrong_kernel_is_noticed),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
