/* SPDX-License-Identifier: MIT
** Copies the part of a graph that some outputs need, which drops useless nodes.  Everything is
** copied, so the old graph may be freed.
*/
#include "fatal.h"
#include "op.h"

#include <stdlib.h>

static void mark(const Graph *g, const char *const *outputs, bool *live) {
    for (; *outputs; outputs++) {
        Node *n = graph_find(g, *outputs);
        if (!n) bug(NULL, "there is no output '%s'", *outputs);
        live[n->id] = true;
    }
    graph_mark_operands(g, live);
}

static Node *extract_copy(Graph *to, const Node *n, Node *const *twin, Node **in, const Param *p) {
    for (int k = 0; k < n->nin; k++)
        in[k] = twin[n->in[k]->id];
    return node_twin(to, n, in, p);
}

Graph *graph_extract_twins(const Graph *g, const char *const *outputs, Node **twin) {
    Graph *to = graph_new_like(g);
    size_t n = (size_t)g->n;
    bool *live = graph_alloc(to, n * sizeof *live);
    int p = 0;
    Node **in = graph_alloc(to, (size_t)graph_most_operands(g) * sizeof *in);
    mark(g, outputs, live);
    for (int i = 0; i < g->n; i++) {
        const Node *from = g->node[i];
        const Param *param = from->op == OP_param ? &g->param[p++] : NULL;
        twin[i] = live[i] ? extract_copy(to, from, twin, in, param) : NULL;
    }
    for (; *outputs; outputs++)
        graph_output(to, *outputs, twin[graph_find(g, *outputs)->id]);
    return to;
}

Graph *graph_extract(const Graph *g, const char *const *outputs) {
    Node **twin = checked_new((size_t)g->n + 1, sizeof *twin);
    Graph *to = graph_extract_twins(g, outputs, twin);
    free(twin);
    return to;
}

Graph *graph_copy(const Graph *g) {
    const char **name = checked_new((size_t)g->nout + 1, sizeof *name);
    for (int i = 0; i < g->nout; i++)
        name[i] = g->out[i].name;
    Graph *copy = graph_extract(g, name);
    free(name);
    return copy;
}
