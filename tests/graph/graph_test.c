/* SPDX-License-Identifier: MIT
** The graph itself: interning, parameters, outputs, extraction, and how the
** compiler ends early.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph.h"
#include "graph_file.h"

#define U(rank_, ...) ((Shape){ .rank = rank_, .dim = { __VA_ARGS__ } })
#define T(rank_, ...) ((Shape){ .lead = LEAD_TOKENS, .rank = rank_, .dim = { __VA_ARGS__ } })

static Node *param(Graph *g, const char *name, Shape s) {
    const char *error;
    Node *n = graph_param(g, name, s, (Init){ .kind = INIT_NORMAL, .value = 0.02 }, &error);
    if (!n) fail_msg("%s", error);
    return n;
}

/* == Interning ============================================================ */

static void equal_nodes_are_one(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *a = param(g, "a", U(1, 3)), *b = param(g, "b", U(1, 3));
    assert_ptr_equal(op_add(a, b), op_add(a, b));
    assert_ptr_not_equal(op_add(a, b), op_add(b, a));
    assert_ptr_not_equal(op_add(a, b), op_sub(a, b));
    assert_ptr_equal(op_fill(g, 0.0), op_fill(g, 0.0));
    assert_ptr_not_equal(op_fill(g, 0.0), op_fill(g, -0.0));
    assert_ptr_not_equal(op_fill(g, 0.0), op_full(g, &U(1, 1), 0.0));
    assert_ptr_not_equal(op_slice(a, 0, 0, 2), op_slice(a, 0, 1, 2));
    graph_free(g);
}

static Node *wave(Graph *g, double second, bool sine) {
    const char *error;
    double list[] = { 1, second };
    Node *position = op_source(g, OP_position);
    return node_new(g, OP_wave, 1, &position,
                    (Attr){ .value = 1, .count = 2, .frequency = list, .sine = sine }, &error);
}

static void lists_are_compared_by_content(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *first = wave(g, 0.5, false);
    assert_ptr_equal(first, wave(g, 0.5, false));
    assert_ptr_not_equal(first, wave(g, 0.25, false));
    assert_ptr_not_equal(first, wave(g, 0.5, true));
    assert_true(first->attr->frequency[1] == 0.5); /* a copy of its own */
    graph_free(g);
}

static void a_twin_is_another_node(void **state) {
    (void)state;
    const char *error;
    Graph *g = graph_new();
    Node *a = param(g, "a", U(1, 3)), *y = op_exp(a);
    Node *twin = node_new(g, OP_exp, 1, &a, (Attr){ .copy = 1 }, &error);
    assert_ptr_not_equal(y, twin);
    assert_ptr_equal(twin, node_new(g, OP_exp, 1, &a, (Attr){ .copy = 1 }, &error));
    /* what an op has no use for does not make a difference */
    assert_ptr_equal(y, node_new(g, OP_exp, 1, &a, (Attr){ .axis = 7, .count = 3 }, &error));
    graph_free(g);
}

static void a_field_of_its_kind_makes_another_node(void **state) {
    (void)state;
    const char *error;
    Graph *g = graph_new();
    Node *w = param(g, "w", U(2, 4, 3)), *in[] = { op_embed(w, op_source(g, OP_tokens)), w };
    Node *full = node_new(g, OP_linear, 2, in, (Attr){ 0 }, &error);
    assert_ptr_not_equal(full, node_new(g, OP_linear, 2, in, (Attr){ .bf16 = true }, &error));
    assert_ptr_equal(full, node_new(g, OP_linear, 2, in, (Attr){ .causal = true }, &error));
    graph_free(g);
}

/* A multiply-add is two. */
static void operations_are_counted_from_shapes(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *w = param(g, "w", U(2, 4, 3)), *x = op_embed(w, op_source(g, OP_tokens));
    Node *y = op_linear(x, w);
    assert_true(op_flops(w) == 0 && op_flops(x) == 0);
    assert_true(op_flops(y) == 2 * 4 * 3);
    assert_true(op_flops(op_linear_weight(y, x)) == 2 * 4 * 3);
    assert_true(op_flops(op_add(y, op_fill(g, 1))) == 4);
    assert_true(op_flops(op_sum(y, 0)) == 4);
    assert_true(op_flops(op_reshape(y, &U(2, 2, 2))) == 0);
    graph_free(g);
}

static void where_a_node_came_from_is_the_first_place(void **state) {
    (void)state;
    Graph *g = graph_new();
    g->loc = (Loc){ .file = "a.lua", .line = 3 };
    g->site = "layers.0";
    Node *y = op_fill(g, 5);
    g->loc = (Loc){ .file = "a.lua", .line = 9 };
    g->backward = true;
    assert_ptr_equal(y, op_fill(g, 5));
    assert_int_equal(y->loc.line, 3);
    assert_string_equal(y->site, "layers.0");
    assert_false(y->backward);
    assert_true(op_fill(g, 6)->backward);
    graph_free(g);
}

static void a_copy_finds_what_it_was_made_of(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *x = param(g, "x", U(1, 3)), *y = op_scale(x, 2);
    graph_output(g, "y", op_tanh(y));
    Graph *copy = graph_copy(g);
    assert_ptr_equal(copy->node[0]->attr, x->attr);
    graph_free(g);
    graph_verify(copy);
    for (int sealed = 0; sealed < 2; sealed++) {
        int n = copy->n;
        assert_ptr_equal(op_tanh(op_scale(graph_find_param(copy, "x")->node, 2)),
                         graph_find(copy, "y"));
        assert_int_equal(copy->n, n);
        op_scale(graph_find(copy, "y"), 4 + sealed);
        assert_int_equal(copy->n, n + 2);
        graph_seal(copy);
    }
    graph_free(copy);
}

static void many_nodes_stay_distinct(void **state) {
    (void)state;
    enum { MANY = 60000 };
    Graph *g = graph_new();
    Node *x = param(g, "x", U(0)), *first = op_scale(x, 0);
    for (int i = 1; i < MANY; i++)
        op_scale(x, i);
    assert_int_equal(g->n, 1 + 2 * MANY);
    for (int i = 0; i < MANY; i++)
        op_scale(x, i);
    assert_int_equal(g->n, 1 + 2 * MANY);
    assert_ptr_equal(first, op_scale(x, 0));
    graph_verify(g);
    graph_free(g);
}

/* == Parameters, outputs, extraction ====================================== */

static void parameters_are_found_by_name(void **state) {
    (void)state;
    const char *error;
    Graph *g = graph_new();
    Node *w = param(g, "w", U(2, 3, 4));
    assert_ptr_equal(w, param(g, "w", U(2, 3, 4)));
    assert_int_equal(g->nparam, 1);
    assert_null(graph_param(g, "w", U(2, 4, 3), (Init){ 0 }, &error));
    assert_string_equal(error, "parameter 'w' exists with shape [3,4], not [4,3]");
    assert_null(graph_param(g, "", U(0), (Init){ 0 }, &error));
    assert_null(graph_param(g, "t", T(1, 2), (Init){ 0 }, &error));
    graph_free(g);
}

static void an_equal_output_is_replaced(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *a = op_fill(g, 1), *b = op_fill(g, 2);
    graph_output(g, "y", a);
    graph_output(g, "z", a);
    graph_output(g, "y", b);
    assert_int_equal(g->nout, 2);
    assert_ptr_equal(graph_find(g, "y"), b);
    assert_null(graph_find(g, "x"));
    graph_free(g);
}

static void extraction_keeps_what_is_needed(void **state) {
    (void)state;
    const double list[] = { 1, 2 };
    const char *error;
    Graph *g = graph_new();
    g->loc = (Loc){ .file = graph_string(g, "spec.lua"), .line = 4 };
    Node *unused = param(g, "unused", U(1, 2)), *a = param(g, "a", U(1, 2));
    Node *b = graph_param(g, "b", U(1, 2), (Init){ .kind = INIT_LIST, .list = list }, &error);
    graph_output(g, "other", op_exp(unused));
    Node *product = op_mul(a, b), *sum = op_add(product, wave(g, 0.5, true));
    graph_output(g, "y", sum);
    Graph *e = graph_extract(g, (const char *[]){ "y", NULL });
    graph_free(g); /* nothing of it is shared */
    graph_verify(e);
    char *text = graph_printed(e, true);
    assert_string_equal(text,
                        "%0 = param \"a\" normal 0.02 : [2] @ \"spec.lua\":4\n"
                        "%1 = param \"b\" list 1,2 : [2] @ \"spec.lua\":4\n"
                        "%2 = mul %0, %1 : [2] @ \"spec.lua\":4\n"
                        "%3 = position : int32[tokens] @ \"spec.lua\":4\n"
                        "%4 = wave %3 scale=1 sin 1,0.5 : [tokens,2] @ \"spec.lua\":4\n"
                        "%5 = add %2, %4 : [tokens,2] @ \"spec.lua\":4\n"
                        "output \"y\" %5\n");
    assert_int_equal(e->nparam, 2);
    free(text);
    graph_free(e);
}

static bool is_kept(const char *name, void *user) {
    (void)user;
    return *name != 'x';
}

static void only_outputs_that_are_kept_are_needed(void **state) {
    (void)state;
    Graph *g = graph_new();
    Node *a = op_fill(g, 1), *b = op_exp(a), *c = op_tanh(a);
    graph_output(g, "x1", b);
    graph_output(g, "y", c);
    graph_output(g, "x2", b);
    graph_output(g, "z", a);
    graph_keep_outputs(g, is_kept, NULL);
    assert_int_equal(g->nout, 2);
    assert_null(graph_find(g, "x1"));
    assert_null(graph_find(g, "x2"));
    assert_ptr_equal(graph_find(g, "y"), c);
    assert_ptr_equal(graph_find(g, "z"), a);
    const bool *needed = graph_needed(g);
    assert_true(needed[a->id] && needed[c->id] && !needed[b->id]);
    graph_output(g, "x1", b); /* as if it were new */
    assert_int_equal(g->nout, 3);
    assert_ptr_equal(graph_find(g, "x1"), b);
    graph_verify(g);
    graph_free(g);
}

/* == Early ends =========================================================== */

/* Runs fn in a process of its own; its exit status, and what it said.  The
** graph is this process's, on the stack, so that no checker calls it lost. */
static int status_of(void (*fn)(Graph *), char *said, size_t size) {
    Graph *volatile g = graph_new();
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        dup2(ends[1], 2);
        fn(g);
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got; (got = read(ends[0], said + used, size - 1 - used)) > 0;)
        used += (size_t)got;
    said[used] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    graph_free(g);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void ask_for_too_much(Graph *g) { graph_alloc(g, (size_t)1 << 62); }

static void spoil_a_shape(Graph *g) {
    g->loc = (Loc){ .file = "specs/a\nb.lua", .line = 8 };
    Node *y = op_neg(op_full(g, &U(1, 4), 1));
    y->shape.dim[0] = 5;
    graph_verify(g);
}

static void swap_operands(Graph *g) {
    Node *y = op_neg(op_neg(op_fill(g, 1)));
    g->node[1]->in[0] = y;
    graph_verify(g);
}

static void forget_a_param(Graph *g) {
    op_neg(param(g, "w", U(0)));
    g->nparam = 0;
    graph_verify(g);
}

static void build_nonsense(Graph *g) {
    Node *four = op_full(g, &U(1, 4), 1), *five = op_full(g, &U(1, 5), 1);
    op_add(four, five);
}

static void early_ends(void **state) {
    (void)state;
    static const struct {
        void (*fn)(Graph *);
        int status;
        const char *said;
    } c[] = {
        { ask_for_too_much, 3,
          "error: memory: expected enough to compile with, found none left\n" },
        { spoil_a_shape, 5,
          "error: specs/a\\nb.lua:8: internal error at %1 = neg: has a stale "
          "shape [5], not [4]; please report this\n" },
        { swap_operands, 5,
          "error: internal error at %1 = neg: operand 0 does not come before "
          "it; please report this\n" },
        { forget_a_param, 5,
          "error: internal error: 0 parameters in the list, 1 nodes; please "
          "report this\n" },
        { build_nonsense, 5,
          "error: internal error at %0 = fill: building add: shapes [4] and "
          "[5] do not fit together; please report this\n" },
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char said[400];
        int status = status_of(c[i].fn, said, sizeof said);
        assert_string_equal(said, c[i].said);
        assert_int_equal(status, c[i].status);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_are_one),
        cmocka_unit_test(lists_are_compared_by_content),
        cmocka_unit_test(a_twin_is_another_node),
        cmocka_unit_test(a_field_of_its_kind_makes_another_node),
        cmocka_unit_test(operations_are_counted_from_shapes),
        cmocka_unit_test(where_a_node_came_from_is_the_first_place),
        cmocka_unit_test(a_copy_finds_what_it_was_made_of),
        cmocka_unit_test(many_nodes_stay_distinct),
        cmocka_unit_test(parameters_are_found_by_name),
        cmocka_unit_test(an_equal_output_is_replaced),
        cmocka_unit_test(extraction_keeps_what_is_needed),
        cmocka_unit_test(only_outputs_that_are_kept_are_needed),
        cmocka_unit_test(early_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
