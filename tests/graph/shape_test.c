/* SPDX-License-Identifier: MIT
** Shapes: sizes, broadcasting, and what every shape rule says about operands
** that do not fit.
*/
#include "test.h"

#include <string.h>

#include "graph.h"

#define U(rank_, ...) ((Shape){ .rank = rank_, .dim = { __VA_ARGS__ } })
#define T(rank_, ...) ((Shape){ .lead = LEAD_TOKENS, .rank = rank_, .dim = { __VA_ARGS__ } })
#define IDS ((Shape){ .lead = LEAD_TOKENS, .type = I32 })

static Node *param(Graph *g, const char *name, Shape s) {
    const char *error;
    Node *n = graph_param(g, name, s, (Init){ .kind = INIT_NORMAL, .value = 0.02 }, &error);
    if (!n) fail_msg("%s", error);
    return n;
}

static void sizes_do_not_overflow(void **state) {
    (void)state;
    int64_t p;
    const char *error;
    Graph *g = graph_new();
    assert_true(checked_size((int64_t)1 << 24, (int64_t)1 << 24, &p));
    assert_true(p == (int64_t)1 << 48);
    assert_false(checked_size((int64_t)1 << 24, ((int64_t)1 << 24) + 1, &p));
    assert_false(checked_size(INT64_MAX, 2, &p));
    assert_false(checked_size(-1, 2, &p));
    assert_true(checked_size(0, INT32_MAX, &p));
    Node *wide = param(g, "wide", U(2, 1, (int64_t)1 << 40));
    Node *tall = param(g, "tall", U(2, (int64_t)1 << 40, 1));
    assert_null(node_new(g, OP_add, 2, (Node *[]){ wide, tall }, (Attr){ 0 }, &error));
    assert_non_null(strstr(error, "has too many elements"));
    assert_null(graph_param(g, "huge", U(2, INT64_MAX, INT64_MAX), (Init){ 0 }, &error));
    assert_null(graph_param(g, "none", U(1, 0), (Init){ 0 }, &error));
    assert_string_equal(error, "axis 0 must have a positive length, not 0");
    graph_free(g);
}

static void broadcasting(void **state) {
    (void)state;
    Graph *g = graph_new();
    static const struct {
        Shape a, b;
        const char *want;
    } c[] = {
        { U(0), U(0), "[]" },
        { U(1, 3), U(0), "[3]" },
        { U(1, 3), U(2, 2, 1), "[2,3]" },
        { T(0), U(1, 3), "[tokens,3]" },
        { T(2, 1, 4), T(1, 4), "[tokens,1,4]" },
        { U(1, 3), U(1, 4), NULL },
        { T(2, 3, 2), U(1, 3), NULL },
        { U(0), IDS, NULL },
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        Shape s, t;
        const char *error = shape_broadcast(&c[i].a, &c[i].b, &s);
        if (!c[i].want) {
            assert_non_null(error);
            continue;
        }
        assert_null(error);
        assert_string_equal(shape_text(g, &s), c[i].want);
        assert_null(shape_broadcast(&c[i].b, &c[i].a, &t));
        assert_true(shape_equal(&s, &t));
    }
    graph_free(g);
}

static void fitting_undoes_broadcasting(void **state) {
    (void)state;
    Graph *g = graph_new();
    static const Shape to[] = { U(0), U(1, 1), U(1, 3),    U(2, 2, 1), U(2, 1, 3),
                                T(0), T(1, 3), T(2, 2, 3), T(2, 1, 1) };
    Node *x = op_full(g, &T(2, 2, 3), 1);
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        assert_true(shape_equal(&op_fit(x, &to[i])->shape, &to[i]));
    assert_ptr_equal(op_fit(x, &x->shape), x);
    assert_ptr_equal(op_broadcast(x, &x->shape), x);
    graph_free(g);
}

/* What is wrong, exactly: op, operands by shape, attribute, message. */
static const struct Mistake {
    Op op;
    int nin;
    Shape in[6];
    Attr attr;
    const char *message;
} mistakes[] = {
    { OP_add, 1, { U(0) }, { 0 }, "takes 2 operands, found 1" },
    { OP_neg, 2, { U(0), U(0) }, { 0 }, "takes 1 operand, found 2" },
    { OP_concat, 0, { U(0) }, { 0 }, "takes at least 1 operand, found 0" },
    { OP_add, 2, { T(1, 8), U(1, 9) }, { 0 }, "shapes [tokens,8] and [9] do not fit together" },
    { OP_exp, 1, { IDS }, { 0 }, "operands must be numbers, not ids" },
    { OP_mul, 2, { U(0), IDS }, { 0 }, "operands must be numbers, not ids" },
    { OP_sum, 1, { T(1, 4) }, { .axis = 1 }, "there is no axis 1 in [tokens,4]" },
    { OP_peak, 1, { U(0) }, { .axis = 0 }, "there is no axis 0 in []" },
    { OP_softmax, 1, { U(1, 4) }, { .axis = -1 }, "there is no axis -1 in [4]" },
    { OP_sinkhorn,
      1,
      { T(1, 4) },
      { .count = 1 },
      "[tokens,4] has no two axes: x must be a matrix" },
    { OP_sinkhorn,
      1,
      { T(2, 4, 4) },
      { .count = 0 },
      "there can be from 1 to 100000 iterations, not 0" },
    { OP_sinkhorn,
      1,
      { T(3, 2, 1 << 12, 4097) },
      { .count = 1 },
      "a matrix can have 16777216 elements, [tokens,2,4096,4097] has more" },
    { OP_sinkhorn_grad,
      2,
      { T(2, 4, 4), T(2, 4, 3) },
      { .count = 1 },
      "x and dy have different shapes, [tokens,4,4] and [tokens,4,3]" },
    { OP_reshape,
      1,
      { T(1, 6) },
      { .shape = { .rank = 2, .dim = { 2, 2 } } },
      "[tokens,6] has 6 elements, [tokens,2,2] would have 4" },
    { OP_reshape, 1, { U(1, 6) }, { .shape = { .rank = 5 } }, "expected at most 4 axes, found 5" },
    { OP_transpose,
      1,
      { U(2, 2, 3) },
      { .perm = { 1, 1 } },
      "the order must name each of the 2 axes of [2,3] once" },
    { OP_slice,
      1,
      { T(1, 4) },
      { .first = 3, .count = 2 },
      "2 elements from 3 on are not inside axis 0 of [tokens,4]" },
    { OP_slice,
      1,
      { U(1, 4) },
      { .first = INT64_MAX, .count = INT64_MAX },
      "9223372036854775807 elements from 9223372036854775807 on are not inside axis 0 of [4]" },
    { OP_concat,
      2,
      { U(2, 2, 3), U(2, 2, 4) },
      { .axis = 0 },
      "shapes [2,3] and [2,4] (operand 1) do not fit together" },
    { OP_stack,
      2,
      { U(1, 3), U(1, 1) },
      { 0 },
      "shapes [3] and [1] (operand 1) do not fit together" },
    { OP_stack,
      1,
      { U(4, 1, 1, 1, 2) },
      { 0 },
      "a stack of [1,1,1,2] would have more than 4 axes" },
    { OP_after,
      2,
      { U(1, 3), T(1, 4) },
      { 0 },
      "[3] cannot wait for [tokens,4] (operand 1), one per token" },
    { OP_token_sum, 1, { U(1, 3) }, { 0 }, "[3] has no token axis" },
    { OP_linear, 2, { T(1, 512), U(2, 8, 256) }, { 0 }, "inner dimensions differ: 512 and 256" },
    { OP_linear_back, 2, { T(1, 512), U(2, 8, 512) }, { 0 }, "inner dimensions differ: 512 and 8" },
    { OP_linear, 2, { U(1, 4), U(2, 8, 4) }, { 0 }, "x must be [tokens,K], not [4]" },
    { OP_linear, 2, { T(1, 4), T(2, 8, 4) }, { 0 }, "w must be [M,K], not [tokens,8,4]" },
    { OP_linear,
      3,
      { T(1, 4), U(2, 8, 4), T(1, 4) },
      { 0 },
      "what the product is added to must be [tokens,8], not [tokens,4]" },
    { OP_linear,
      4,
      { T(1, 4), U(2, 8, 4), T(1, 8), T(1, 8) },
      { 0 },
      "takes 2 or 3 operands, found 4" },
    { OP_linear_weight, 2, { T(1, 4), U(1, 4) }, { 0 }, "x must be [tokens,K], not [4]" },
    { OP_embed, 2, { U(1, 4), IDS }, { 0 }, "w must be [V,D], not [4]" },
    { OP_embed, 2, { U(2, 4, 4), T(0) }, { 0 }, "ids must be int32[tokens], not [tokens]" },
    { OP_embed_weight,
      2,
      { T(1, 4), IDS },
      { .count = 0 },
      "axis 0 must have a positive length, not 0" },
    { OP_attention,
      3,
      { T(2, 4, 8), T(2, 2, 4), T(2, 2, 4) },
      { 0 },
      "head dimensions of q and k differ: 8 and 4" },
    { OP_attention,
      3,
      { T(2, 4, 8), T(2, 3, 8), T(2, 3, 8) },
      { 0 },
      "4 query heads cannot share 3 key heads evenly" },
    { OP_attention, 3, { T(2, 4, 8), T(2, 2, 8), T(2, 1, 8) }, { 0 }, "k has 2 heads and v 1" },
    { OP_attention, 2, { T(2, 4, 8), T(2, 2, 8) }, { 0 }, "takes at least 3 operands, found 2" },
    { OP_attention,
      3,
      { T(2, 4, 8), T(2, 2, 8), T(2, 2, 8) },
      { .window = 4 },
      "a window is of causal keys, not of averages or of later ones too" },
    { OP_attention,
      3,
      { T(2, 4, 8), T(2, 2, 8), T(2, 2, 8) },
      { .values = 9 },
      "keys have 8 channels, values cannot be the first 9" },
    { OP_attention,
      3,
      { T(2, 4, 8), T(2, 2, 8), T(2, 2, 4) },
      { .values = 4 },
      "values that are channels of keys need k as v, and are not averages" },
    { OP_attention,
      3,
      { T(2, 4, 8), T(2, 2, 8), T(2, 2, 8) },
      { .softcap = -1 },
      "softcap must be positive, not -1" },
    { OP_attention,
      4,
      { T(2, 4, 8), T(2, 2, 8), T(2, 2, 8), T(2, 2, 5) },
      { .causal = true },
      "q has 4 heads and by_distance 2" },
    { OP_attention,
      4,
      { T(2, 4, 8), T(2, 2, 8), T(2, 2, 8), T(2, 4, 5) },
      { 0 },
      "distances are those of causal keys of the queries' tokens, not of averages" },
    { OP_attention_grad,
      6,
      { T(2, 2, 8), T(2, 2, 8), T(2, 2, 4), T(2, 2, 8), T(1, 2), T(2, 2, 4) },
      { 0 },
      "operand 3 must be [tokens,2], not [tokens,2,8]" },
    { OP_conv,
      2,
      { T(1, 8), U(1, 8) },
      { 0 },
      "taps must be [channels,n], or that for each token, not [8]" },
    { OP_conv,
      2,
      { T(2, 2, 4), T(2, 3, 2) },
      { 0 },
      "8 channels cannot share the taps of 3 evenly" },
    { OP_conv, 2, { U(1, 8), U(2, 8, 2) }, { 0 }, "x must have a row for each token, not [8]" },
    { OP_conv_weight,
      2,
      { T(1, 8), T(1, 6) },
      { .shape = U(2, 2, 3) },
      "dy and x have different sizes, [tokens,8] and [tokens,6]" },
    { OP_conv_taps,
      2,
      { T(1, 8), U(1, 8) },
      { .shape = U(2, 2, 3) },
      "x must have a row for each token, not [8]" },
    { OP_shift,
      1,
      { U(1, 8) },
      { .count = 1, .causal = true },
      "x must have a row for each token, not [8]" },
    { OP_recurrence,
      3,
      { T(2, 2, 8), T(2, 2, 4), T(2, 2, 4) },
      { 0 },
      "shapes of q and k differ: [tokens,2,8] and [tokens,2,4]" },
    { OP_recurrence,
      3,
      { T(2, 2, 8), T(2, 2, 8), T(2, 3, 8) },
      { 0 },
      "3 heads of v cannot share 2 heads of q and k evenly" },
    { OP_recurrence,
      4,
      { T(2, 2, 8), T(2, 2, 8), T(2, 4, 4), T(2, 4, 4) },
      { 0 },
      "decay must be [tokens,4] or [tokens,4,8], not [tokens,4,4]" },
    { OP_recurrence,
      4,
      { T(2, 2, 8), T(2, 2, 8), T(2, 4, 4), T(1, 2) },
      { .delta = true },
      "delta must be [tokens,4], not [tokens,2]" },
    { OP_recurrence,
      5,
      { T(2, 2, 8), T(2, 2, 8), T(2, 4, 4), T(1, 4), U(2, 4, 4) },
      { 0 },
      "rate must be [4,8], not [4,4]" },
    { OP_recurrence,
      5,
      { T(2, 2, 8), T(2, 2, 8), T(2, 4, 4), T(1, 4), T(2, 4, 8) },
      { 0 },
      "rate must be [4,8], not [tokens,4,8]" },
    { OP_recurrence,
      5,
      { T(2, 2, 8), T(2, 2, 8), T(2, 4, 4), T(2, 4, 8), U(2, 4, 8) },
      { 0 },
      "decay must be [tokens,4], not [tokens,4,8]" },
    { OP_recurrence,
      3,
      { T(2, 2, 8), T(2, 2, 8), T(2, 2, 4) },
      { .delta = true },
      "takes 4 to 6 operands, found 3" },
    { OP_recurrence_grad,
      4,
      { T(2, 2, 8), T(2, 2, 8), T(2, 2, 4), T(2, 2, 8) },
      { 0 },
      "operand 3 must be [tokens,2,4], not [tokens,2,8]" },
    { OP_linear_each, 2, { T(2, 2, 3), U(3, 3, 4, 3) }, { .count = 4 }, "x has 2 parts and w 3" },
    { OP_linear_each,
      2,
      { T(2, 2, 3), U(3, 2, 4, 3) },
      { .first = 2, .count = 3 },
      "w has rows 0 to 3, there are not 3 from 2 on" },
    { OP_linear_each,
      2,
      { T(2, 2, 3), U(3, 2, 4, 3) },
      { .count = 2, .back = true },
      "inner dimensions differ: 3 and 2" },
    { OP_cross_entropy,
      2,
      { T(2, 2, 3), IDS },
      { 0 },
      "logits must be [tokens,V], not [tokens,2,3]" },
    { OP_wave, 1, { T(0) }, { 0 }, "position must be int32[tokens], not [tokens]" },
    { OP_wave, 1, { IDS }, { 0 }, "needs at least one frequency" },
    { OP_side, 1, { U(0) }, { .first = 1 }, "param has 1 results, there is no result 1" },
};

/* A node of any shape. */
static Node *of_shape(Graph *g, Shape s, int i) {
    char name[16];
    snprintf(name, sizeof name, "p%d", i);
    if (s.type == I32) return op_source(g, OP_tokens);
    return s.lead == LEAD_TOKENS ? op_full(g, &s, 0.5) : param(g, name, s);
}

static void mistakes_have_messages(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const struct Mistake *m = &mistakes[i];
        const char *error = NULL;
        Graph *g = graph_new();
        Node *in[6];
        for (int k = 0; k < m->nin; k++)
            in[k] = of_shape(g, m->in[k], k);
        int before = g->n;
        Node *n = node_new(g, m->op, m->nin, in, m->attr, &error);
        if (n) fail_msg("'%s' was accepted; expected: %s", op_info[m->op].name, m->message);
        assert_string_equal(error, m->message);
        assert_int_equal(g->n, before);
        graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(broadcasting),
        cmocka_unit_test(fitting_undoes_broadcasting),
        cmocka_unit_test(mistakes_have_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
