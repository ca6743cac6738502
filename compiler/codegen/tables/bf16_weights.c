/*
** Which weights a --precision bf16 build that does not train keeps as bfloat16: those
** that only products and lookups of rows take.  Products round their weights anyway, so
** nothing is lost; reading half the bytes is what decoding gains.
*/
#include "tables.h"

#include <string.h>

static bool takes_bf16(const Node *n, int operand) {
    Class class = op_info[n->op].class;
    return class == CONTRACT ? operand == 1 : class == GATHER && operand == 0;
}

/* Every use in the graph takes bfloat16; true if there is none. */
static bool only_matrix(const Graph *g, const char *name) {
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->node[i]->nin; k++) {
            const Node *in = g->node[i]->in[k];
            if (in->op == OP_param && !strcmp(in->attr.name, name) && !takes_bf16(g->node[i], k))
                return false;
        }
    for (int i = 0; i < g->nout; i++)
        if (g->out[i].node->op == OP_param && !strcmp(g->out[i].node->attr.name, name))
            return false;
    return true;
}

bool weight_is_bf16(const Graph *g, const Graph *probe, const Node *param) {
    return param->shape.rank == 2 && only_matrix(g, param->attr.name)
        && (!probe || only_matrix(probe, param->attr.name));
}
