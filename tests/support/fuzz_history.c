/* SPDX-License-Identifier: MIT
** Draws of operations over time whose past is of a fixed size. */
#include "fuzz_draw.h"
#include "recurrence_draw.h"

static int below(Fuzz *f, int count) { return draw_below(&f->random, count); }

static Node *draw_shift(Fuzz *f) {
    Node *x = fuzz_vector(f);
    if (!below(f, 3)) x = op_gather(x, fuzz_list(f));
    return op_shift(x, 1 + below(f, 4), true);
}

/* The cotangent of taps for all tokens is a mean, so that it keeps its size. */
static Node *draw_conv(Fuzz *f, Op op) {
    int64_t width = 1 + below(f, 2), G = fuzz_length(f), n = 1 + below(f, 6);
    Node *x = fuzz_vector_of(f, G * width), *y = fuzz_vector_of(f, G * width), *w = NULL;
    Shape taps = { .rank = 2, .dim = { G, n } };
    const char *error;
    if (below(f, 3)) w = fuzz_param(f, taps);
    else w = fuzz_heads(f, G, n);
    bool of_taps = op == OP_conv_weight || op == OP_conv_taps;
    if (!below(f, 3)) {
        Node *rows = fuzz_list(f);
        x = op_gather(x, rows), y = op_gather(y, rows);
        if (w->shape.lead == LEAD_TOKENS) w = op_gather(w, rows);
    }
    Node *in[] = { x, of_taps ? y : w },
         *z = node_new(f->g, op, 2, in, (Attr){ .shape = taps }, &error);
    return op == OP_conv_weight ? op_mul(z, op_source(f->g, OP_per_token)) : z;
}

static Node *draw_recurrence(Fuzz *f) {
    int64_t G = 1 + below(f, 2), H = G * (1 + below(f, 2)), d = 1 + below(f, 4);
    Node *in[] = { fuzz_heads(f, G, d), fuzz_heads(f, G, d), fuzz_heads(f, H, 1 + below(f, 4)),
                   NULL, NULL };
    if (below(f, 3)) in[3] = below(f, 2) ? fuzz_heads(f, H, d) : fuzz_vector_of(f, H);
    Node *rate = in[3] && in[3]->shape.rank == 1 && below(f, 2)
        ? fuzz_param(f, (Shape){ .rank = 2, .dim = { H, d } })
        : NULL;
    if (below(f, 2)) in[4] = fuzz_vector_of(f, H);
    Node *rows = below(f, 3) ? NULL : fuzz_list(f);
    for (int i = 0; rows && i < 5; i++)
        if (in[i]) in[i] = op_gather(in[i], rows);
    return drawn_recurrence(in[0], in[1], in[2], in[3], rate, in[4]);
}

static Node *draw_recurrence_grad(Fuzz *f) {
    const char *error;
    Node *o = drawn_recurrence_op(draw_recurrence(f)), *in[7];
    for (int i = 0; i < o->nin; i++)
        in[i] = o->in[i];
    in[o->nin] = op_tanh(o);
    Node *dq = node_new(f->g, OP_recurrence_grad, o->nin + 1, in, *o->attr, &error);
    return op_stop_gradient(op_side(dq, below(f, 3)));
}

Node *fuzz_history(Fuzz *f, Op op) {
    switch (op) {
    case OP_shift: return draw_shift(f);
    case OP_recurrence: return draw_recurrence(f);
    case OP_recurrence_grad: return draw_recurrence_grad(f);
    default: return draw_conv(f, op);
    }
}
