/* SPDX-License-Identifier: MIT
** Examples of attention and of its gradient: see op_example.h. */
#include "op_example_parts.h"

static const struct {
    int64_t H, G, d, e;
} heads[] = {
    { 1, 1, 1, 1 },
    { 2, 2, 3, 3 },
    { 4, 2, 2, 3 },
    { 3, 1, 4, 1 },
};

/* Attention and its log-sum-exp, as merging several by theirs uses them. */
static Node *merged(Node *o) {
    Shape s = o->shape;
    s.dim[1] = 1;
    return op_mul(o, op_reshape(op_sigmoid(op_side(o, 1)), &s));
}

/* Queries, keys and values, or all of some tokens only. */
static Node *attention_of_some(Graph *g, int which, bool causal, int who) {
    int64_t H = heads[which].H, G = heads[which].G, d = heads[which].d, e = heads[which].e;
    Node *in[] = { example_operand(g, T(2, H, d)), example_operand(g, T(2, G, d)),
                   example_operand(g, T(2, G, e)) },
         *rows = example_list(g, 0);
    for (int i = 0; i < 3; i++)
        if (i ? who > 0 : who < 2) in[i] = op_gather(in[i], rows);
    return merged(example_build(g, OP_attention, 3, in, (Attr){ .value = 0.6, .causal = causal }));
}

/* What shapes scores, alone and together. */
static const struct {
    int64_t window, values, distances;
    double softcap;
    bool one_table; /* where rows are those of all tokens */
} shapings[] = { { 2, 0, 0, 0, false }, { 0, 0, 0, 0.4, false }, { 0, 0, 3, 0, false },
                 { 0, 1, 0, 0, false }, { 3, 1, 2, 0.7, false }, { 0, 0, 2, 0, true },
                 { 2, 0, 9, 0, true },  { 0, 1, 1, 0.7, true } };

static Node *shaped_attention(Graph *g, int which, int shaping, bool some) {
    int64_t H = heads[which].H, G = heads[which].G, d = heads[which].d, e = heads[which].e,
            values = shapings[shaping].values, distances = shapings[shaping].distances;
    Node *in[] = { example_operand(g, T(2, H, d)), example_operand(g, T(2, G, d)),
                   values ? NULL : example_operand(g, T(2, G, e)),
                   !distances ? NULL
                       : shapings[shaping].one_table && !some
                       ? example_operand(g, U(2, H, distances))
                       : example_operand(g, T(2, H, distances)) },
         *rows = some ? example_list(g, 0) : NULL;
    for (int i = 0; some && i < 4; i++)
        if (in[i]) in[i] = op_gather(in[i], rows);
    if (values) in[2] = in[1];
    Attr attr = { .value = 0.6,
                  .causal = true,
                  .window = shapings[shaping].window,
                  .values = values,
                  .softcap = shapings[shaping].softcap };
    return merged(example_build(g, OP_attention, distances ? 4 : 3, in, attr));
}

Node *example_attention(Graph *g, int variant) {
    static const int64_t averages[] = { 0, 0, 2, 1, 9 }; /* of keys: pools, or tokens of a chunk */
    int which = variant / 2 % COUNT(heads), round = variant / 2 / COUNT(heads);
    if (round >= COUNT(averages))
        return round < COUNT(averages) + 3
            ? attention_of_some(g, which, variant % 2, round - COUNT(averages))
            : round < COUNT(averages) + 3 + COUNT(shapings)
            ? shaped_attention(g, which, round - COUNT(averages) - 3, variant % 2)
            : NULL;
    int64_t H = heads[which].H, G = heads[which].G, d = heads[which].d, e = heads[which].e;
    Shape s[] = { T(2, H, d), T(2, G, d), T(2, G, e) };
    Node *o =
        example_build_of(g, OP_attention, 3, s,
                         (Attr){ .value = 0.6, .causal = variant % 2, .count = averages[round] });
    return round ? merged(o) : o;
}

Node *example_attention_grad(Graph *g, int variant) {
    Node *o = example_attention(g, variant);
    if (!o) return NULL;
    while (o->op != OP_attention)
        o = o->in[0];
    Node *delta = op_sum(op_mul(o, op_tanh(o)), 1);
    Node *in[] = {
        o->in[0], o->in[1], o->in[2], delta, op_side(o, 1), op_tanh(o), o->nin > 3 ? o->in[3] : NULL
    };
    Node *dq = example_build(g, OP_attention_grad, o->nin + 3, in, *o->attr);
    return op_stop_gradient(op_side(dq, variant % node_results(dq)));
}
