/* SPDX-License-Identifier: MIT
** See op_example.h: choices among a token's own numbers, and products by the experts chosen. */
#include "op_example.h"

#include "test.h"

#define SHAPE_OF(lead_, rank_, ...) \
    ((Shape){ .lead = lead_, .rank = rank_, .dim = { __VA_ARGS__ } })
#define U(rank, ...) SHAPE_OF(LEAD_NONE, rank, __VA_ARGS__)
#define T(rank, ...) SHAPE_OF(LEAD_TOKENS, rank, __VA_ARGS__)
#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

static Node *build(Graph *g, Op op, int nin, Node **in, Attr attr) {
    const char *error;
    Node *n = node_new(g, op, nin, in, attr, &error);
    if (!n) fail_msg("%s: %s", op_info[op].name, error);
    return n;
}

static Node *largest(Graph *g, int variant) {
    static const struct {
        Shape x;
        int64_t count;
    } c[] = { { T(1, 5), 2 }, { T(1, 1), 1 }, { T(2, 2, 3), 1 }, { T(1, 4), 4 } };
    if (variant >= COUNT(c)) return NULL;
    Node *x = example_operand(g, c[variant].x);
    return op_mul(x, build(g, OP_largest, 1, &x, (Attr){ .count = c[variant].count }));
}

/* Places among N that a mask leaves: up to k of them are chosen, of some tokens none. */
static Node *places(Graph *g, int64_t N, int64_t k, int64_t most) {
    Node *x = example_operand(g, T(1, N));
    Node *mask = op_mul(build(g, OP_largest, 1, &x, (Attr){ .count = most }), op_step(x));
    return build(g, OP_chosen, 1, &mask, (Attr){ .count = k });
}

static const struct {
    int64_t N, k, most;
} choices[] = { { 4, 2, 2 }, { 1, 1, 1 }, { 5, 3, 2 }, { 6, 2, 4 } };

static Node *picked(Graph *g, Op op, int variant) {
    if (variant >= COUNT(choices)) return NULL;
    int64_t N = choices[variant].N, k = choices[variant].k;
    Shape x = T(1, op == OP_place ? k : N);
    Node *in[] = { example_operand(g, x), places(g, N, k, choices[variant].most) };
    return build(g, op, 2, in, (Attr){ 0 });
}

/* Products by experts, of rows of tokens or of slots. */
static Node *experts(Graph *g, Op op, int variant) {
    if (variant >= 4 * COUNT(choices)) return NULL;
    int64_t E = choices[variant / 4].N, k = choices[variant / 4].k, M = 2 + variant % 3, K = 4;
    int64_t from = op == OP_expert_linear ? K : M;
    Node *at = places(g, E, k, choices[variant / 4].most);
    Node *lists = build(g, OP_expert_lists, 1, &at, (Attr){ 0 });
    Node *x = example_operand(g, variant % 2 ? T(2, k, from) : T(1, from)),
         *other = op == OP_expert_linear_weight
        ? example_operand(g, variant / 2 % 2 ? T(2, k, K) : T(1, K))
        : example_operand(g, U(3, E, M, K)),
         *in[] = { x, other, lists, op_side(lists, 1) };
    return build(g, op, 4, in, (Attr){ .count = E });
}

Node *op_example_choice(Graph *g, Op op, int variant) {
    switch (op) {
    case OP_largest: return largest(g, variant);
    case OP_chosen:
    case OP_pick: return picked(g, OP_pick, variant);
    case OP_place: return picked(g, OP_place, variant);
    case OP_expert_lists: return experts(g, OP_expert_linear, variant);
    case OP_expert_linear:
    case OP_expert_linear_back:
    case OP_expert_linear_weight: return experts(g, op, variant);
    default: return NULL;
    }
}
