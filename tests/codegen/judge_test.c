/* SPDX-License-Identifier: MIT
** What differs from the interpreter is forgiven where rounding moves the interpreter's own results:
** a sum whose terms cancel is all rounding, the same terms without that are not.
*/
#include "test.h"

#include <math.h>

#include "agreement.h"
#include "fuzz_rows.h"
#include "op.h"

enum { BATCH = 2, TIME = 512, VOCAB = 4 };

static Node *param(Graph *g, const char *name, Shape s) {
    const char *error;
    return graph_param(g, name, s, (Init){ .kind = INIT_CONSTANT }, &error);
}

/* The gradient of "p" is the mean over tokens of cos + 'offset', whose cosines cancel. */
static Graph *mean_of_cosines(double offset) {
    const double turn = 8 * atan(1) / TIME;
    Graph *g = graph_new();
    Node *w = param(g, "table", (Shape){ .rank = 2, .dim = { VOCAB, VOCAB } });
    Node *p = param(g, "p", (Shape){ .rank = 1, .dim = { 1 } });
    Node *in[] = { op_embed(w, op_source(g, OP_tokens)), op_source(g, OP_targets) };
    Node *position = op_source(g, OP_position), *mean = op_source(g, OP_per_token);
    Node *wave = op_build1(OP_wave, position, (Attr){ .count = 1, .frequency = &turn, .value = 1 });
    Node *nll = op_build(g, OP_cross_entropy, 2, in, (Attr){ 0 });
    Node *terms = op_mul(p, op_add(wave, op_fill(g, offset)));
    Shape number = { 0 };
    graph_output(g, "logits", in[0]);
    graph_output(g, "nll", nll);
    graph_output(g, "cross_entropy", op_mul(op_token_sum(nll), mean));
    graph_output(g, "loss", op_mul(op_reshape(op_token_sum(terms), &number), mean));
    return g;
}

static bool is_shaky(double offset) {
    Graph *g = mean_of_cosines(offset);
    Case *c = compiled_case(g, 3, BATCH, TIME, VOCAB);
    Expected e;
    expected_open(&e, c, op_info);
    bool shaky = case_is_shaky(c, &e, 1);
    expected_close(&e);
    case_free(c);
    graph_free(g);
    return shaky;
}

static void test_terms_that_cancel(void **state) {
    (void)state;
    assert_true(is_shaky(3e-5));
    assert_false(is_shaky(1));
}

/* == Ties ================================================================= */

/* Logits that are twice as large if tanh of one number is above tanh of an equal one. */
static Graph *logits_of_a_tie(bool first) {
    Graph *g = mean_of_cosines(1);
    Shape number = { .rank = 1, .dim = { 1 } };
    Node *a = param(g, "a", number), *b = param(g, "b", number);
    Node *x = op_tanh(a), *y = op_tanh(b);
    Node *above = op_build1(OP_step, first ? op_sub(x, y) : op_sub(y, x), (Attr){ 0 });
    Node *logits = graph_find(g, "logits");
    graph_output(g, "logits", op_mul(logits, op_add(above, op_fill(g, 1))));
    return g;
}

/* Whichever way a round's rounding decides. */
static void test_ties(void **state) {
    (void)state;
    for (int i = 0; i < 12; i++) {
        Graph *g = logits_of_a_tie(i % 2);
        Case *c = compiled_case(g, 1 + (uint64_t)i, 1, 2, VOCAB);
        Expected e;
        for (int k = 0; k < g->nparam; k++)
            if (g->param[k].node->shape.rank == 1) c->value[k][0] = 0.5;
        expected_open(&e, c, op_info);
        assert_true(case_moves(c, &e, 0, false).value > 0.1);
        expected_close(&e);
        case_free(c);
        graph_free(g);
    }
}

/* == Sizes of terms ======================================================= */

typedef struct Asked {
    const Case *c;
    int sums;
} Asked;

static const double *value_of(void *user, const Node *node) {
    const Case *c = ((Asked *)user)->c;
    for (int i = 0; i < c->g->nparam; i++)
        if (c->g->param[i].node == node) return c->value[i];
    return NULL;
}

static void compare_sizes(void *user, const Node *n, double *value, const double *size,
                          int64_t count) {
    for (int64_t i = 0; size && i < count; i++)
        assert_true(size[i] >= fabs(value[i]) * (1 - 1e-12));
    ((Asked *)user)->sums += size != NULL;
    if (op_info[n->op].class == POINTWISE) assert_null(size);
}

static void test_sizes_are_not_below_sums(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        Graph *g = fuzz_rows(seed, 30);
        Case *c = compiled_case(g, seed, 2, 5, VOCAB);
        Asked a = { .c = c };
        EvalInput in = case_input(c);
        in.user = &a;
        in.param = value_of;
        in.computed = compare_sizes;
        eval_free(eval_new(g, &in));
        assert_true(a.sums > 0);
        case_free(c);
        graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_terms_that_cancel),
                                        cmocka_unit_test(test_ties),
                                        cmocka_unit_test(test_sizes_are_not_below_sums) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
