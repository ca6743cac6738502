/* SPDX-License-Identifier: MIT
** Decays of recurrences that are outer products.  A decay for each channel of each head and token
** is by far the largest operand of a recurrence with small states, and its gradient the largest
** result.  If the decay is a number per token and head times a function of parameters per channel,
** the recurrence takes these two factors instead, and neither the product nor its gradient is ever
** stored.
*/
#include "passes.h"
#include "rebuild.h"
#include "recurrence.h"

enum { FACTORS = 64 }; /* a longer product is none */

/* NULL: 1 */
typedef struct Factors {
    Node *token; /* with an axis of one channel */
    Node *rate;  /* the same for all tokens */
    int count;
} Factors;

static void decays_multiply(Node **product, Node *x) {
    *product = *product ? op_mul(*product, x) : x;
}

/* A number for each head, or fewer. */
static bool is_by_head(const Node *x) {
    int rank = x->shape.rank;
    return x->shape.lead == LEAD_TOKENS && (!rank || x->shape.dim[rank - 1] == 1);
}

/* Adds x, or the factors of x, to the factors; false if it is no such product. */
static bool take_factor(Node *x, Factors *f) {
    if (++f->count > FACTORS) return false;
    if (x->shape.lead == LEAD_NONE) {
        decays_multiply(&f->rate, x);
        return true;
    }
    if (is_by_head(x)) {
        decays_multiply(&f->token, x);
        return true;
    }
    switch (x->op) {
    case OP_mul: return take_factor(x->in[0], f) && take_factor(x->in[1], f);
    case OP_neg: decays_multiply(&f->rate, op_fill(x->g, -1)); return take_factor(x->in[0], f);
    case OP_div:
        if (x->in[1]->shape.lead != LEAD_NONE || !take_factor(x->in[0], f)) return false;
        decays_multiply(&f->rate, op_div(op_fill(x->g, 1), x->in[1]));
        return true;
    case OP_fill: decays_multiply(&f->rate, op_fill(x->g, x->attr->value)); return true;
    default: return false;
    }
}

/* Splits a decay by head and channel into its numbers by head and the rates of channels. */
static Node *by_head(Node *token, const Node *decay) {
    Shape s = decay->shape;
    s.dim[1] = 1;
    Node *x = token ? op_broadcast(token, &s) : op_full(decay->g, &s, 1);
    s.rank = 1, s.dim[1] = 0;
    return op_reshape(x, &s);
}

static Node *by_channel(Node *rate, const Node *decay) {
    Shape s = decay->shape;
    s.lead = LEAD_NONE, s.list = 0;
    return op_broadcast(rate, &s);
}

static Node *decays_rule(Rebuild *r, const Node *old, Node **in) {
    Factors f = { 0 };
    (void)r;
    if (old->op != OP_recurrence) return NULL;
    RecurrenceShape shape = recurrence_shape(old);
    if (!shape.decay || shape.rate || shape.by_head || shape.dk == 1
        || !take_factor(in[shape.decay], &f) || !f.rate)
        return NULL;
    Node *all[6] = { in[0], in[1], in[2], by_head(f.token, in[shape.decay]),
                     by_channel(f.rate, in[shape.decay]) };
    int n = 5;
    if (shape.beta) all[n++] = in[shape.beta];
    const char *error;
    Node *y = node_new(r->to, OP_recurrence, n, all, *old->attr, &error);
    if (!y) bug(old, "does not take its decay as factors: %s", error);
    return y;
}

Graph *pass_decays(Graph *g) {
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->op == OP_recurrence) return rebuild(g, decays_rule, NULL);
    return g;
}
