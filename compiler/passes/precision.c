/* SPDX-License-Identifier: MIT
** --precision bf16: what tokens bring to a product is rounded to bfloat16 first,
** in the row kernel that computes it; the weights are rounded where they are
** packed.  Products of such numbers are exact in float32, and so are their
** inputs in half the memory.  Attention rounds what it multiplies itself: q, k, v and
** the output's gradient, probabilities and scores' gradients.
**
** The result of a product that only row operations read, and none adds to
** something, is rounded too, and kept in half the memory: gates, what is turned by
** position, and their gradients.  What is added up over layers stays float32, as
** everything else does.
*/
#include "plan.h"
#include "rebuild.h"

enum { LONG = 16 }; /* results of fewer numbers per token are not worth it */

static bool has_room_to_gain(const Node *n) {
    return op_info[n->op].class == CONTRACT && n->nin == 2 && n->shape.dim[0] >= LONG;
}

/* Whether the user may read operand k as bfloat16; of a view its users were asked. */
static bool reads_bf16(const Node *user, int k, const bool *bf16) {
    switch (op_info[user->op].class) {
    case POINTWISE: return user->op != OP_add && user->op != OP_sub;
    case REDUCE: return true;
    case VIEW:
        return (user->op == OP_reshape || user->op == OP_slice || user->op == OP_transpose)
            && bf16[user->id];
    case CONTRACT:
    case EXPERT: return k == 0;
    case OUTER: return true;
    default: return false;
    }
}

/* By id: everybody who reads the value may read it as bfloat16. */
static bool *readable_as_bf16(Graph *g) {
    bool *bf16 = graph_alloc(g, ((size_t)g->n + 1) * sizeof *bf16);
    for (int i = 0; i < g->n; i++)
        bf16[i] = true;
    for (int i = 0; i < g->nout; i++)
        bf16[g->out[i].node->id] = false;
    for (int i = g->n; i-- > 0;)
        for (int k = 0; k < g->node[i]->nin; k++)
            if (!reads_bf16(g->node[i], k, bf16)) bf16[g->node[i]->in[k]->id] = false;
    return bf16;
}

/* Rounds the operands that are values of tokens; a product's third one is its sum so far. */
static Node *rule(Rebuild *r, const Node *old, Node **in) {
    const bool *bf16 = r->user;
    Class c = op_info[old->op].class;
    if (c != CONTRACT && c != OUTER && c != EXPERT) return NULL;
    for (int i = 0; i < 2; i++)
        if (in[i]->shape.lead == LEAD_TOKENS) in[i] = op_bf16(in[i]);
    if (!has_room_to_gain(old) || !bf16[old->id]) return NULL;
    Attr attr = *old->attr;
    attr.bf16 = true;
    return rebuild_as(r, old, in, attr);
}

Graph *pass_precision(Graph *g) {
    g = rebuild(g, rule, readable_as_bf16(g));
    g->bf16 = true;
    return g;
}
