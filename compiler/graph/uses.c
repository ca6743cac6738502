/* SPDX-License-Identifier: MIT
** Which nodes read a node, and which nodes it is made of.
*/
#include "graph.h"

int *graph_uses(Graph *g, const bool *by) {
    int *uses = graph_scratch(g, ((size_t)g->n + 1) * sizeof *uses);
    for (int i = 0; i < g->n; i++)
        for (int k = 0; (!by || by[i]) && k < g->node[i]->nin; k++)
            uses[g->node[i]->in[k]->id]++;
    for (int i = 0; i < g->nout; i++)
        uses[g->out[i].node->id]++;
    return uses;
}

bool *graph_needed(Graph *g) {
    bool *needed = graph_scratch(g, (size_t)g->n + 1);
    for (int i = 0; i < g->nout; i++)
        needed[g->out[i].node->id] = true;
    graph_mark_operands(g, needed);
    return needed;
}

int graph_most_operands(const Graph *g) {
    int most = 0;
    for (int i = 0; i < g->n; i++)
        most = g->node[i]->nin > most ? g->node[i]->nin : most;
    return most;
}

void graph_mark_operands(const Graph *g, bool *marked) {
    for (int i = g->n; i-- > 0;)
        for (int k = 0; marked[i] && k < g->node[i]->nin; k++)
            marked[g->node[i]->in[k]->id] = true;
}
