/* SPDX-License-Identifier: MIT
** Two-phase depth reads whose weights are made with every row of ops.def, of the sources and of
** what is given: a read that the pass cuts to some of its sources has the numbers of the whole
** one, whatever attributes and sizes of their own the operations have.
*/
#include "test.h"

#include <math.h>

#include "numeric.h"
#include "op_example.h"
#include "two_phase.h"

enum { BATCH = 2, TIME = 3, WIDTH = 2, NO_OPERAND = -1, MOST = 16 };

/* One read: weights are 'axis' of what an example is. */
typedef struct Weights {
    Op op;
    int variant;
    bool bare;        /* the op's own node, without what the example makes of it */
    int operand, own; /* that is made of the sources along its axis 'own'; or NO_OPERAND */
    int axis;
    bool softmax;
} Weights;

typedef struct Sources {
    Node *at[MOST];
    int n;
} Sources;

/* The last node of the op; of results beside the first: the one that has them. */
static Node *node_of(const Graph *g, Op op) {
    for (int i = g->n; i-- > 0;)
        if (g->node[i]->op == op) return g->node[i];
    return NULL;
}

static Sources sources_new(Graph *g, int64_t n) {
    Sources s = { .n = (int)n };
    for (int i = 0; i < s.n; i++)
        s.at[i] = example_operand(g, (Shape){ .lead = LEAD_TOKENS, .rank = 1, .dim = { WIDTH } });
    return s;
}

/* x and a number of each source along one of its axes. */
static Node *with_sources(Node *x, int axis, const Sources *s) {
    Shape along = { .lead = LEAD_TOKENS, .rank = x->shape.rank };
    for (int i = 0; i < along.rank; i++)
        along.dim[i] = i == axis ? s->n : 1;
    Node *z = op_sum(op_stack(x->g, s->n, (Node **)s->at), 1);
    return op_add(x, op_reshape(z, &along));
}

/* The op again with an operand made of sources; NULL: its rule takes no such one. */
static Node *of_sources(const Weights *w, Node *n, const Sources *s) {
    Node *in[MOST];
    const char *error;
    if (n->nin > MOST) return NULL;
    for (int i = 0; i < n->nin; i++)
        in[i] = n->in[i];
    in[w->operand] = with_sources(in[w->operand], w->own, s);
    return node_new(n->g, n->op, n->nin, in, *n->attr, &error);
}

/* [n]: x added up along all other axes. */
static Node *along(Node *x, int axis) {
    for (int i = x->shape.rank; i-- > 0;)
        if (i != axis) {
            x = op_sum(x, i);
            axis -= i < axis;
        }
    return x;
}

static Node *read_of(const Sources *s, Node *z, bool softmax) {
    Shape one = { .rank = 2, .dim = { s->n, 1 } };
    Node *w = op_reshape(softmax ? op_softmax(z, 0) : z, &one);
    return op_sum(op_mul(w, op_stack(z->g, s->n, (Node **)s->at)), 0);
}

/* Two reads, of which the second has the first's result for its last source where two are left. */
static bool build(Graph *g, const Weights *w, const Node *like) {
    Random r = { 7 };
    if (like->shape.dim[w->axis] > MOST) return false;
    Sources s = sources_new(g, like->shape.dim[w->axis]);
    Node *x = op_example(g, w->op, w->variant);
    if (w->bare) x = node_of(g, w->op);
    if (w->operand != NO_OPERAND) x = of_sources(w, x, &s);
    if (!x || x->shape.list || w->axis >= x->shape.rank || x->shape.dim[w->axis] != s.n)
        return false;
    Node *z = along(x, w->axis), *first = read_of(&s, z, w->softmax);
    if (s.n > 2) s.at[s.n - 1] = op_tanh(first);
    graph_output(g, "loss",
                 weighted_sum(op_add(first, read_of(&s, op_scale(z, 0.5), w->softmax)), &r));
    return true;
}

/* == What is asked ======================================================== */

static double loss_of(Graph *g, const Case *c) {
    EvalInput in = case_input(c);
    in.draw = 99;
    Eval *ev = eval_new(g, &in);
    double loss = eval_value(ev, graph_find(g, "loss"))[0];
    eval_free(ev);
    return loss;
}

static int count_after(const Graph *g) {
    int n = 0;
    for (int i = 0; i < g->n; i++)
        n += g->node[i]->op == OP_after;
    return n;
}

/* Whether reads were put together, which then mean the same. */
static bool agrees(const Weights *w, const Node *like) {
    Graph *whole = graph_new();
    bool together = false;
    if (build(whole, w, like)) {
        Graph *apart = graph_copy(whole);
        Case *c = case_new(apart, 5, BATCH, TIME, VOCAB, 0.3, 1.2);
        Graph *cut = pass_two_phase(graph_copy(apart), TWO_PHASE_ON);
        graph_verify(cut);
        together = count_after(cut) > count_after(apart);
        double a = loss_of(apart, c), b = loss_of(cut, c);
        if (together && !(fabs(a - b) <= 1e-9 * fmax(1, fabs(a))))
            fail_msg("%s, example %d, operand %d by axis %d, weights by axis %d: %g, not %g",
                     op_info[w->op].name, w->variant, w->operand, w->own, w->axis, b, a);
        case_free(c);
        graph_free(cut), graph_free(apart);
    }
    graph_free(whole);
    return together;
}

/* Of weights along each axis of x. */
static int along_axes(Weights w, const Node *x) {
    int together = 0;
    for (w.axis = 0; w.axis < x->shape.rank; w.axis++)
        for (int softmax = 0; softmax < 2 && x->shape.dim[w.axis] > 1; softmax++) {
            w.softmax = softmax;
            together += agrees(&w, x);
        }
    return together;
}

static int of_operands(Weights w, const Node *x) {
    int together = 0;
    for (w.operand = 0; w.operand < x->nin; w.operand++) {
        const Shape *s = &x->in[w.operand]->shape;
        for (w.own = 0; s->type == F32 && !s->list && w.own < s->rank; w.own++)
            for (w.axis = 0; w.axis < x->shape.rank; w.axis++)
                if (s->dim[w.own] > 1 && x->shape.dim[w.axis] == s->dim[w.own])
                    together += agrees(&w, x);
    }
    return together;
}

static bool is_weight(const Node *x) {
    return x && x->shape.type == F32 && !x->shape.list && x->op != OP_rows
        && op_info[x->op].class != CHOICE;
}

/* How many reads of an op's examples were put together; -1: it has none. */
static int of_op(Op op) {
    int together = 0, variant = 0;
    for (;; variant++) {
        Graph *g = graph_new();
        Node *y = op_example(g, op, variant), *x = y ? node_of(g, op) : NULL;
        Weights w = { .op = op, .variant = variant, .operand = NO_OPERAND };
        if (is_weight(y)) together += along_axes(w, y);
        w.bare = true;
        if (is_weight(x)) together += along_axes(w, x) + of_operands(w, x);
        graph_free(g);
        if (!y) return variant ? together : -1;
    }
}

static void every_op_survives_a_cut(void **state) {
    (void)state;
    int cut = 0;
    for (int op = 0; op < NOP; op++) {
        int n = of_op((Op)op);
        if (n < 0) fail_msg("%s has no example", op_info[op].name);
        bool must = op == OP_random || op == OP_param || op == OP_reshape || op == OP_transpose
            || op == OP_sum || op == OP_softmax || op_info[op].class == POINTWISE;
        if (must && !n) fail_msg("%s: no read was cut", op_info[op].name);
        cut += n > 0;
    }
    print_message("%d of %d operations are in weights that were cut\n", cut, (int)NOP);
}

/* A sum over tokens has none, but what it is of may be a read's own result. */
static void a_sum_over_tokens_is_no_parameter(void **state) {
    (void)state;
    Graph *g = graph_new();
    Random r = { 3 };
    Sources s = sources_new(g, 4);
    Node *first = read_of(&s, example_operand(g, (Shape){ .rank = 1, .dim = { 4 } }), true);
    Shape four = { .rank = 1, .dim = { 4 } };
    Node *late = op_broadcast(op_sum(op_token_sum(op_tanh(first)), 0), &four);
    Node *second = read_of(&s, op_mul(late, example_operand(g, four)), true);
    graph_output(g, "loss", weighted_sum(op_add(first, second), &r));
    Case *c = case_new(g, 5, BATCH, TIME, VOCAB, -1, 1);
    Graph *cut = pass_two_phase(graph_copy(g), TWO_PHASE_ON);
    assert_int_equal(count_after(cut), 0);
    assert_true(fabs(loss_of(g, c) - loss_of(cut, c)) < 1e-12);
    case_free(c);
    graph_free(cut), graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_survives_a_cut),
        cmocka_unit_test(a_sum_over_tokens_is_no_parameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
