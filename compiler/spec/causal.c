/* SPDX-License-Identifier: MIT
** Checks what a model may read: targets are for losses only.  Also decides whether a model can
** generate token by token: it cannot if the form that generates sees later tokens or chooses among
** them.  A choice by generating(), decoding() or training() counts with the operand that it takes
** in that form.
*/
#include "front.h"

/* Operands of n that its value depends on while generating. */
static bool counts(const Node *n, int operand) {
    Op by = n->op == OP_select ? n->in[0]->op : NOP;
    return by == OP_generating || by == OP_decoding ? operand == 1
        : by == OP_training                         ? operand == 2
                                                    : true;
}

Node *causal_leak(const Graph *g, const Node *logits) {
    bool *needed = graph_alloc((Graph *)g, (size_t)g->n + 1);
    needed[logits->id] = true;
    for (int i = logits->id; i >= 0; i--)
        for (int k = 0; needed[i] && k < g->node[i]->nin; k++) {
            const Node *in = g->node[i]->in[k];
            if (in->op == OP_targets) return g->node[i];
            needed[in->id] = true;
        }
    return NULL;
}

void causal_sites(const Graph *g, const Node *logits, const char **acausal, const char **ahead) {
    bool *needed = graph_alloc((Graph *)g, (size_t)g->n + 1);
    *acausal = *ahead = NULL;
    needed[logits->id] = true;
    for (int i = logits->id; i >= 0; i--) {
        const Node *n = g->node[i];
        if (!needed[i]) continue;
        for (int k = 0; k < n->nin; k++)
            needed[n->in[k]->id] |= counts(n, k);
        if (n->op == OP_top) *ahead = n->site ? n->site : "";
        if ((n->op == OP_attention || n->op == OP_shift) && !n->attr->causal)
            *acausal = n->site ? n->site : "";
    }
}
