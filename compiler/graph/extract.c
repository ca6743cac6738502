/*
** A graph with only what some outputs need: how nodes that became useless
** are dropped.  Everything is copied, so the old graph may be freed.
*/
#include "op.h"

#include <string.h>

static void mark(const Graph *g, const char *const *outputs, bool *live) {
    for (; *outputs; outputs++) {
        Node *n = graph_find(g, *outputs);
        if (!n) bug(NULL, "there is no output '%s'", *outputs);
        live[n->id] = true;
    }
    for (int i = g->n; i-- > 0; )
        for (int k = 0; live[i] && k < g->node[i]->nin; k++)
            live[g->node[i]->in[k]->id] = true;
}

static Node *copy(Graph *to, const Node *n, Node *const *twin, Node **in, const Param *p) {
    const char *error;
    for (int k = 0; k < n->nin; k++)
        in[k] = twin[n->in[k]->id];
    to->loc = graph_loc(to, n->loc);
    to->site = graph_string(to, n->site);
    to->backward = n->backward;
    Node *t = p ? graph_param(to, n->attr.name, n->shape, p->init, &error)
                : node_new(to, n->op, n->nin, in, n->attr, &error);
    if (!t) bug(n, "copying: %s", error);
    return t;
}

Graph *graph_extract(const Graph *g, const char *const *outputs) {
    Graph *to = graph_new();
    size_t n = (size_t)g->n;
    bool *live = graph_alloc(to, n * sizeof *live);
    Node **twin = graph_alloc(to, n * sizeof *twin);
    int most = 0, p = 0;
    for (int i = 0; i < g->n; i++)
        most = g->node[i]->nin > most ? g->node[i]->nin : most;
    Node **in = graph_alloc(to, (size_t)most * sizeof *in);
    mark(g, outputs, live);
    for (int i = 0; i < g->n; i++) {
        const Node *from = g->node[i];
        const Param *param = from->op == OP_param ? &g->param[p++] : NULL;
        if (live[i]) twin[i] = copy(to, from, twin, in, param);
    }
    for (; *outputs; outputs++)
        graph_output(to, *outputs, twin[graph_find(g, *outputs)->id]);
    to->loc = (Loc){ 0 };
    to->site = NULL;
    to->backward = false;
    return to;
}
