/* SPDX-License-Identifier: MIT
** The gradient pass: which outputs it adds, what it does not build, and that
** whole small models get the right gradients.
*/
#include "test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"
#include "graph_file.h"
#include "numeric.h"
#include "op.h"

enum { VOCAB = 7, BATCH = 2, TIME = 4 };

static Node *param(Graph *g, const char *name, int64_t count) {
    const char *error;
    Shape s = { .rank = 1, .dim = { count } };
    return graph_param(g, name, s, (Init){ 0 }, &error);
}

/* What the graph prints of one output: a tree in prefix form. */
static void write_tree(FILE *f, const Node *n) {
    fputs(op_info[n->op].name, f);
    if (n->attr->name) fprintf(f, " %s", n->attr->name);
    if (n->op == OP_fill) fprintf(f, " %g", n->attr->value);
    if (!n->nin) return;
    for (int k = 0; k < n->nin; k++) {
        fputs(k ? ", " : "(", f);
        write_tree(f, n->in[k]);
    }
    fputc(')', f);
}

static void expect_tree(const Graph *g, const char *output, const char *want) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    Node *n = graph_find(g, output);
    assert_non_null(n);
    write_tree(f, n);
    fclose(f);
    assert_string_equal(text, want);
    free(text);
}

/* No gradient of its own, nor what only that needs; what lies behind it has one. */
static void frozen_parameters_have_none(void **state) {
    (void)state;
    const char *error;
    Shape matrix = { .rank = 2, .dim = { 3, 2 } };
    Graph *g = graph_new();
    Node *v = param(g, "v", 2), *w = graph_param(g, "w", matrix, (Init){ 0 }, &error);
    Shape row = { .rank = 2, .dim = { 1, 2 } };
    Node *x = op_mul(w, op_reshape(v, &row));
    graph_output(g, "loss", op_sum(op_sum(x, 0), 0));
    graph_tune(g, "w", (Tuning){ .frozen = true });
    int before = g->n;
    pass_gradient(g);
    graph_verify(g);
    assert_null(graph_find(g, "grad.w"));
    expect_tree(g, "grad.v",
                "reshape(reshape(sum(mul(mul(reshape(mul(reshape(seed), fill 1)), fill 1), "
                "param w))))");
    assert_true(g->n > before);
    graph_free(g);
    g = graph_new();
    graph_output(g, "loss", op_sum(param(g, "v", 2), 0));
    graph_tune(g, "v", (Tuning){ .frozen = true });
    pass_gradient(g);
    assert_int_equal(g->nout, 1);
    graph_free(g);
}

static void cotangents_add_up_in_reverse_order(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *a = param(g, "a", 1), *s = op_sum(a, 0);
    Node *first = op_exp(s), *second = op_tanh(s);
    graph_output(g, "loss", op_add(op_neg(first), second));
    pass_gradient(g);
    graph_verify(g);
    expect_tree(g, "grad.a",
                "reshape(add("
                "mul(seed, sub(fill 1, mul(tanh(sum(param a)), tanh(sum(param a))))), "
                "mul(neg(seed), exp(sum(param a)))))");
    graph_free(g);
}

static void what_does_not_flow_is_zero_or_absent(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *used = param(g, "used", 3), *stopped = param(g, "stopped", 3);
    Node *stepped = param(g, "stepped", 2), *unused = param(g, "unused", 3);
    Node *y = op_mul(used, op_stop_gradient(op_exp(stopped)));
    graph_output(g, "other", op_exp(unused));
    graph_output(g, "loss", op_add(sum_all(y), sum_all(op_step(stepped))));
    pass_gradient(g);
    graph_verify(g);
    expect_tree(g, "grad.stopped", "fill 0");
    expect_tree(g, "grad.stepped", "fill 0");
    assert_true(shape_equal(&graph_find(g, "grad.stepped")->shape, &stepped->shape));
    assert_non_null(graph_find(g, "grad.used"));
    assert_null(graph_find(g, "grad.unused"));
    assert_int_equal(g->nout, 2 + 3);
    graph_free(g);
}

static void nothing_is_built_without_parameters(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *constant = op_exp(op_fill(g, 0.5)), *a = param(g, "a", 1);
    graph_output(g, "loss", op_add(op_tanh(constant), op_sum(a, 0)));
    int before = g->n;
    pass_gradient(g);
    /* the seed, its reshape: nothing for tanh and exp */
    assert_int_equal(g->n, before + 2);
    graph_free(g);
}

static void gradients_know_where_they_come_from(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *a = param(g, "a", 3);
    g->loc = (Loc){ .file = "spec.lua", .line = 12 };
    g->site = "layers.1.mlp";
    Node *y = op_exp(a);
    g->loc = (Loc){ .file = "spec.lua", .line = 40 };
    g->site = "loss";
    graph_output(g, "loss", op_sum(y, 0));
    int before = g->n;
    pass_gradient(g);
    Node *d = graph_find(g, "grad.a");
    assert_int_equal(d->op, OP_mul);
    assert_int_equal(d->loc.line, 12);
    assert_string_equal(d->site, "layers.1.mlp");
    for (int i = 0; i < g->n; i++)
        assert_true(g->node[i]->backward == (i >= before));
    assert_false(g->backward); /* and the graph is as it was */
    assert_int_equal(g->loc.line, 40);
    assert_string_equal(g->site, "loss");
    graph_free(g);
}

static void both_uses_of_a_tied_weight_count(void **state) {
    (void)state;
    const char *error;
    Graph *g = graph_new();
    Shape s = { .rank = 2, .dim = { VOCAB, 3 } };
    Node *w = graph_param(g, "w", s, (Init){ 0 }, &error);
    Node *logits = op_linear(op_embed(w, op_source(g, OP_tokens)), w);
    Random r = { 4 };
    graph_output(g, "loss", weighted_sum(logits, &r));
    pass_gradient(g);
    Node *d = graph_find(g, "grad.w");
    assert_int_equal(d->op, OP_add);
    assert_int_equal(d->in[0]->op, OP_linear_weight);
    assert_int_equal(d->in[1]->op, OP_embed_weight);
    graph_free(g);
}

static void the_seed_scales_every_gradient(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *a = param(g, "a", 2), *b = param(g, "b", 2);
    graph_output(g, "loss", sum_all(op_mul(op_exp(a), op_tanh(b))));
    pass_gradient(g);
    Case *c = case_new(g, 1, BATCH, TIME, VOCAB, -1, 1);
    EvalInput in = case_input(c);
    Eval *one = eval_new(g, &in);
    in.seed = 8;
    Eval *eight = eval_new(g, &in);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            Node *d = graph_find(g, i ? "grad.b" : "grad.a");
            assert_true(eval_value(eight, d)[k] == 8 * eval_value(one, d)[k]);
        }
    eval_free(one), eval_free(eight);
    case_free(c);
    graph_free(g);
}

enum { SHARED = 20, WIDTH = 3, LISTS = 3 };

/* What a list has besides the parameters that all begin with: one, a row for each token, or for
** some tokens. */
typedef enum ListEnd { END_BARE, END_TOKENS, END_ROWS } ListEnd;

static Node *end_of(Graph *g, ListEnd end) {
    const char *error;
    Shape s = { .rank = 2, .dim = { VOCAB, WIDTH } }, one = { .rank = 2, .dim = { VOCAB, 1 } };
    if (end == END_BARE) return param(g, "bare", WIDTH);
    Node *ids = op_source(g, OP_tokens);
    Node *x = op_embed(graph_param(g, end == END_ROWS ? "some" : "each", s, (Init){ 0 }, &error),
                       ids);
    if (end == END_TOKENS) return x;
    Node *mask = op_embed(graph_param(g, "mask", one, (Init){ 0 }, &error), ids);
    mask = op_reshape(mask, &(Shape){ .lead = LEAD_TOKENS });
    return op_gather(x, op_build(g, OP_rows, 1, &mask, (Attr){ .count = 1 }));
}

/* In every order: the last one's cotangent comes first. */
static void lists_of_other_rows_begin_alike(void **state) {
    (void)state;
    for (int order = 0; order < LISTS * LISTS * LISTS; order++) {
        int at[LISTS] = { order % LISTS, order / LISTS % LISTS, order / LISTS / LISTS };
        if (at[0] == at[1] || at[1] == at[2] || at[0] == at[2]) continue;
        Graph *g = graph_new();
        Random r = { 5 };
        Node *piece[SHARED + 1], *loss = NULL;
        for (int i = 0; i < SHARED; i++) {
            char name[8];
            snprintf(name, sizeof name, "p%d", i);
            piece[i] = param(g, name, WIDTH);
        }
        for (int i = 0; i < LISTS; i++) {
            int shared = SHARED - i;
            piece[SHARED] = end_of(g, (ListEnd)at[i]);
            Node *list[SHARED + 1];
            memcpy(list, piece, sizeof piece);
            list[shared] = piece[SHARED];
            Node *sum = weighted_sum(op_tanh(op_stack(g, shared + 1, list)), &r);
            loss = loss ? op_add(loss, sum) : sum;
        }
        graph_output(g, "loss", loss);
        Case *c = case_new(g, 7, BATCH, TIME, VOCAB, -1, 1);
        double error = case_gradient_error(c, op_info);
        if (!(error <= GRADIENT_TOLERANCE))
            fail_msg("%d, %d, %d: wrong by %.1e", at[0], at[1], at[2], error);
        case_free(c);
        graph_free(g);
    }
}

static void models_have_the_right_gradients(void **state) {
    (void)state;
    glob_t files;
    assert_int_equal(glob(SOURCE_DIR "/tests/graphs/*.graph", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 3);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *text;
        Graph *g = graph_from_file(files.gl_pathv[i], &text);
        Case *c = case_new(g, i + 1, BATCH, TIME, VOCAB, -1, 1);
        double error = case_gradient_error(c, op_info);
        if (!(error <= GRADIENT_TOLERANCE))
            fail_msg("%s: gradient is wrong by %.1e", files.gl_pathv[i], error);
        case_free(c);
        graph_free(g);
        free(text);
    }
    globfree(&files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frozen_parameters_have_none),
        cmocka_unit_test(cotangents_add_up_in_reverse_order),
        cmocka_unit_test(what_does_not_flow_is_zero_or_absent),
        cmocka_unit_test(nothing_is_built_without_parameters),
        cmocka_unit_test(gradients_know_where_they_come_from),
        cmocka_unit_test(both_uses_of_a_tied_weight_count),
        cmocka_unit_test(the_seed_scales_every_gradient),
        cmocka_unit_test(lists_of_other_rows_begin_alike),
        cmocka_unit_test(models_have_the_right_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
