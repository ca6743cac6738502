/* SPDX-License-Identifier: MIT
** Which exponentials row kernels take as a softmax's weights, which are computed more quickly and
** only right up to 1: those of x less something that is nowhere smaller.
*/
#include "test.h"

#include "rows_analysis.h"
#include "small_model.h"

enum { N = 4 };

/* x and y, both [N,N], of tokens; the same product of x and y twice. */
typedef struct Values {
    Probe p;
    Node *x, *y, *once, *again;
} Values;

static Values values(void) {
    Values v = { .p = probe_new(5, 8, 1) };
    Shape square = probe_shape(2, (int64_t[]){ N, N });
    v.x = probe_stored(&v.p, square);
    v.y = probe_stored(&v.p, square);
    Node *in[] = { v.x, v.y };
    const char *error;
    v.once = op_mul(v.x, v.y);
    v.again = node_new(v.p.g, OP_mul, 2, in, (Attr){ .copy = 1 }, &error);
    return v;
}

static Node *row(Node *x) {
    return op_reshape(x, &(Shape){ .lead = LEAD_TOKENS, .rank = 2, .dim = { 1, N } });
}
static Node *column(Node *x) {
    return op_reshape(x, &(Shape){ .lead = LEAD_TOKENS, .rank = 2, .dim = { N, 1 } });
}

static bool weighs(Node *x, Node *less) { return rows_is_weight(op_exp(op_sub(x, less))); }

static void none_is_smaller(void **state) {
    (void)state;
    Values v = values();
    Node *x = v.x;
    assert_true(weighs(x, x));
    assert_true(weighs(x, op_peak(x, 0)));
    assert_true(weighs(x, row(op_peak(x, 0))));
    assert_true(weighs(x, column(op_peak(x, 1))));
    assert_true(weighs(x, row(op_stop_gradient(op_peak(x, 0)))));
    assert_true(weighs(x, row(op_max(op_peak(x, 0), op_peak(v.y, 0)))));
    assert_true(weighs(x, column(op_max(op_peak(v.y, 1), op_peak(x, 1)))));
    assert_true(weighs(op_peak(x, 0), op_max(op_peak(x, 0), op_peak(v.y, 1))));
    assert_ptr_not_equal(v.once, v.again);
    assert_true(weighs(v.again, row(op_peak(v.once, 0))));
    graph_free(v.p.g);
}

static void some_may_be_smaller(void **state) {
    (void)state;
    Values v = values();
    Node *x = v.x;
    assert_false(weighs(x, v.y));
    assert_false(weighs(x, op_peak(x, 1))); /* along the other axis */
    assert_false(weighs(x, row(op_peak(x, 1))));
    assert_false(weighs(x, column(op_peak(x, 0))));
    assert_false(weighs(x, row(op_peak(v.y, 0))));
    assert_false(weighs(x, row(op_min(op_peak(x, 0), op_peak(v.y, 0)))));
    assert_false(weighs(x, op_neg(row(op_peak(x, 0)))));
    assert_false(weighs(v.once, row(op_peak(x, 0))));
    assert_false(weighs(op_peak(x, 0), row(op_peak(v.y, 0))));
    assert_false(rows_is_weight(op_exp(op_add(x, op_peak(x, 0)))));
    assert_false(rows_is_weight(op_sub(x, op_peak(x, 0))));
    graph_free(v.p.g);
}

/* Each of so many larger values than the last: looking for x has an end. */
static void long_chains_are_left(void **state) {
    (void)state;
    Values v = values();
    Node *p = op_peak(v.y, 0);
    for (int i = 0; i < 1000; i++)
        p = op_max(p, p);
    assert_false(weighs(v.x, row(p)));
    graph_free(v.p.g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_smaller),
        cmocka_unit_test(some_may_be_smaller),
        cmocka_unit_test(long_chains_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
