/* SPDX-License-Identifier: MIT
** Which weights a --precision bf16 build without training holds as bfloat16: those that only
** products and lookups of rows use.  Products round their weights anyway, so nothing is lost, and
** decoding reads half the bytes.
*/
#include "tables.h"
#include "fatal.h"

static bool takes_bf16(const Node *n, int operand) {
    Class class = op_info[n->op].class;
    if (class == CONTRACT || class == EXPERT) return operand == 1;
    return class == LOOKUP && operand == 0;
}

/* A matrix, or one for each of several experts, whose tensors each begin on a whole float. */
static bool is_matrices(const Node *param) {
    const Shape *s = &param->shape;
    int64_t n = param_tensors(param);
    return (s->rank == 2 && n == 1) || (s->rank == 3 && (n == 1 || shape_count(s) / n % 2 == 0));
}

static void leave_out(const Graph *g, bool *kept, const Node *param) {
    const Param *p = param->op == OP_param ? graph_find_param(g, param->attr->name) : NULL;
    if (p) kept[p - g->param] = false;
}

/* Leaves out of g's parameters those that something else in a graph takes. */
static void leave_out_others(const Graph *g, bool *kept, const Graph *used) {
    for (int i = 0; i < used->n; i++)
        for (int k = 0; k < used->node[i]->nin; k++)
            if (!takes_bf16(used->node[i], k)) leave_out(g, kept, used->node[i]->in[k]);
    for (int i = 0; i < used->nout; i++)
        leave_out(g, kept, used->out[i].node);
}

bool *weights_as_bf16(const Graph *g, const Graph *probe) {
    bool *kept = checked_new((size_t)g->nparam + 1, sizeof *kept);
    for (int i = 0; i < g->nparam; i++)
        kept[i] = is_matrices(g->param[i].node);
    leave_out_others(g, kept, g);
    if (probe) leave_out_others(g, kept, probe);
    return kept;
}
