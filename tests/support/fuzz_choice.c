/* SPDX-License-Identifier: MIT
** See fuzz_draw.h: choices among a token's own numbers, and products by the experts chosen.  What
** is chosen depends on ids alone, so that no rounding makes another choice.
*/
#include "fuzz_draw.h"

static int below(Fuzz *f, int count) { return draw_below(&f->random, count); }

static Node *build(Fuzz *f, Op op, int nin, Node **in, Attr attr) {
    const char *error;
    Node *n = node_new(f->g, op, nin, in, attr, &error);
    if (!n) bug(in[0], "%s: %s", op_info[op].name, error);
    return n;
}

static Node *numbers(Fuzz *f, int64_t count) {
    Shape table = { .rank = 2, .dim = { FUZZ_VOCAB, count } };
    return op_embed(fuzz_param(f, table), op_source(f->g, OP_tokens));
}

/* Places among N: the first k of those that a mask leaves, which may be fewer; 'some': of the
** tokens of a list, or NULL. */
static Node *places(Fuzz *f, int64_t N, int64_t k, const Node *some) {
    Node *x = numbers(f, N);
    if (some) x = op_gather(x, some);
    Node *mask = below(f, 3) ? build(f, OP_largest, 1, &x, (Attr){ .count = k }) : op_step(x);
    return build(f, OP_chosen, 1, &mask, (Attr){ .count = k });
}

/* A value of those tokens, [count]. */
static Node *rows(Fuzz *f, int64_t count, const Node *some) {
    Node *x = fuzz_vector(f);
    if (some) x = op_gather(x, some);
    Shape w = { .rank = 2, .dim = { count, x->shape.dim[0] } };
    return op_linear(x, fuzz_param(f, w));
}

static Node *by_slot(Fuzz *f, int64_t k, int64_t count, const Node *some) {
    Shape s = { .rank = 2, .dim = { k, count } };
    return below(f, 2) ? rows(f, count, some) : op_reshape(rows(f, k * count, some), &s);
}

static Node *product(Fuzz *f, Op op, int64_t E, int64_t k, const Node *some) {
    int64_t M = 1 + below(f, 6), K = 1 + below(f, 6);
    Node *at = places(f, E, k, some), *lists = build(f, OP_expert_lists, 1, &at, (Attr){ 0 });
    Node *in[] = { by_slot(f, k, op == OP_expert_linear ? K : M, some), NULL, lists,
                   op_side(lists, 1) };
    bool outer = op == OP_expert_linear_weight;
    in[1] = outer ? by_slot(f, k, K, some)
                  : fuzz_param(f, (Shape){ .rank = 3, .dim = { E, M, K } });
    Node *y = build(f, op, 4, in, (Attr){ .count = E });
    return outer ? op_mul(y, op_source(f->g, OP_per_token)) : y;
}

static Node *moved(Fuzz *f, Op op, int64_t N, int64_t k, const Node *some) {
    Node *in[] = { rows(f, op == OP_place ? k : N, some), places(f, N, k, some) };
    return build(f, op, 2, in, (Attr){ 0 });
}

Node *fuzz_choice(Fuzz *f, Op op) {
    static const int64_t lengths[] = { 1, 2, 3, 4, 8 };
    int64_t N = lengths[below(f, 5)], k = 1 + below(f, (int)(N < 4 ? N : 4));
    const Node *some = below(f, 3) ? NULL : fuzz_draw(f, OP_rows);
    switch (op) {
    case OP_largest: {
        Node *x = numbers(f, N);
        return build(f, op, 1, &x, (Attr){ .count = k });
    }
    case OP_expert_linear_back:
    case OP_expert_linear_weight: return product(f, op, N, k, some);
    case OP_expert_lists:
    case OP_expert_linear: return product(f, OP_expert_linear, N, k, some);
    case OP_chosen:
    case OP_pick: return moved(f, OP_pick, N, k, some);
    case OP_place: return moved(f, OP_place, N, k, some);
    default: bug(NULL, "the fuzzer has no draw for '%s'", op_info[op].name);
    }
}
