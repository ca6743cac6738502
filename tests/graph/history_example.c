/* SPDX-License-Identifier: MIT
** See history_example.h. */
#include "history_example.h"

#include "op_example.h"
#include "recurrence.h"

#include <string.h>

#define SHAPE_OF(lead_, rank_, ...) \
    ((Shape){ .lead = lead_, .rank = rank_, .dim = { __VA_ARGS__ } })
#define U(rank, ...) SHAPE_OF(LEAD_NONE, rank, __VA_ARGS__)
#define T(rank, ...) SHAPE_OF(LEAD_TOKENS, rank, __VA_ARGS__)
#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

/* Of all tokens or some; as far as a sequence reaches and further. */
static Node *shift(Graph *g, int variant) {
    static const int tokens[] = { 1, 2, 5, 40 };
    if (variant >= 4 * COUNT(tokens)) return NULL;
    Node *x = example_operand(g, variant % 2 ? T(2, 2, 3) : T(1, 4));
    if (variant % 4 / 2) x = op_gather(x, example_list(g, 0));
    return op_shift(x, tokens[variant / 4], variant % 2);
}

static const struct {
    int64_t groups, width, taps;
} taps[] = {
    { 4, 1, 4 }, { 3, 1, 1 }, { 2, 3, 2 }, { 1, 5, 3 }, { 1, 1, 12 },
};

/* Taps for all tokens or each its own; rows of all tokens or of some; channels on one axis or
** two. */
static Node *conv(Graph *g, Op op, int variant) {
    int which = variant / 4;
    if (which >= COUNT(taps)) return NULL;
    int64_t G = taps[which].groups, C = G * taps[which].width, n = taps[which].taps;
    Lead lead = variant % 2 ? LEAD_TOKENS : LEAD_NONE;
    Shape x = which % 2 ? T(2, C, 1) : T(1, C), w = SHAPE_OF(lead, 2, G, n);
    bool of_taps = op == OP_conv_weight || op == OP_conv_taps;
    if (of_taps && (op == OP_conv_taps) != (lead == LEAD_TOKENS)) return conv(g, op, variant + 1);
    Node *in[] = { example_operand(g, x), example_operand(g, of_taps ? x : w) };
    Node *rows = variant / 2 % 2 ? example_list(g, 0) : NULL;
    for (int i = 0; rows && i < 2; i++)
        if (in[i]->shape.lead == LEAD_TOKENS) in[i] = op_gather(in[i], rows);
    return example_build(g, op, 2, in, (Attr){ .shape = U(2, G, n) });
}

/* By bits: the delta rule; a decay by head, by channel, by head with
** rates of channels, none; which heads; of some tokens. */
static Node *recurrence_example(Graph *g, int variant) {
    static const struct {
        int64_t H, G, dk, dv;
    } sizes[] = { { 1, 1, 1, 1 }, { 2, 2, 3, 2 }, { 4, 2, 2, 3 } };
    int delta = variant % 2, decay = variant / 2 % 4, which = variant / 8 % COUNT(sizes), n = 3;
    if (variant >= 2 * 8 * COUNT(sizes)) return NULL;
    int64_t H = sizes[which].H, G = sizes[which].G, dk = sizes[which].dk;
    Node *in[6] = { example_operand(g, T(2, G, dk)), example_operand(g, T(2, G, dk)),
                    example_operand(g, T(2, H, sizes[which].dv)) };
    if (decay < 3) {
        Node *g_ = example_operand(g, decay == 1 ? T(2, H, dk) : T(1, H));
        in[n++] = op_neg(op_mul(g_, g_));
    }
    if (decay == 2) in[n++] = example_operand(g, U(2, H, dk));
    if (delta) in[n++] = op_sigmoid(example_operand(g, T(1, H)));
    Node *some = variant >= 8 * COUNT(sizes) ? example_list(g, 0) : NULL;
    for (int i = 0; some && i < n; i++)
        if (in[i]->shape.lead == LEAD_TOKENS) in[i] = op_gather(in[i], some);
    return example_build(g, OP_recurrence, n, in, (Attr){ .delta = delta });
}

/* The sum of all results. */
static Node *recurrence_grad_example(Graph *g, int variant) {
    Node *o = recurrence_example(g, variant), *in[7], *sum = NULL;
    if (!o) return NULL;
    memcpy(in, o->in, (size_t)o->nin * sizeof *in);
    in[o->nin] = op_tanh(o);
    Node *n = example_build(g, OP_recurrence_grad, o->nin + 1, in, *o->attr);
    for (int i = 0; i < node_results(n); i++) {
        bool is = !i || n->side[i].lead == LEAD_TOKENS || n->side[i].rank;
        if (!is || i == RECURRENCE_ROOM) continue;
        Node *x = op_side(n, i);
        while (x->shape.rank)
            x = op_sum(x, 0);
        sum = sum ? op_add(sum, x) : x;
    }
    return op_stop_gradient(sum);
}

Node *history_example(Graph *g, Op op, int variant) {
    switch (op) {
    case OP_shift: return shift(g, variant);
    case OP_recurrence: return recurrence_example(g, variant);
    case OP_recurrence_grad: return recurrence_grad_example(g, variant);
    default: return conv(g, op, variant);
    }
}
