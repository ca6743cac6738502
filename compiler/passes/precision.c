/*
** --precision bf16: what tokens bring to a product is rounded to bfloat16 first,
** in the row kernel that computes it; the weights are rounded where they are
** packed.  Products of such numbers are exact in float32, and so are their
** inputs in half the memory.  Attention rounds what it multiplies itself: q, k, v and
** the output's gradient, probabilities and scores' gradients.  Everything else stays float32.
*/
#include "plan.h"
#include "rebuild.h"

/* Values of tokens among the operands; the third operand of a product is its sum so far. */
static Node *rule(Rebuild *r, const Node *old, Node **in) {
    (void)r;
    Class c = op_info[old->op].class;
    if (c != CONTRACT && c != OUTER) return NULL;
    for (int i = 0; i < 2; i++)
        if (in[i]->shape.lead == LEAD_TOKENS) in[i] = op_bf16(in[i]);
    return NULL;
}

Graph *pass_precision(Graph *g) {
    g = rebuild(g, rule, NULL);
    g->bf16 = true;
    return g;
}
