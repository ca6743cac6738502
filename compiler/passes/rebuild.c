/*
** Copying with rewriting.  Locations, sites and the backward mark of the old
** node are given to whatever its rule builds.
*/
#include "rebuild.h"

#include <string.h>

static const Init *init_of(const Graph *g, const Node *param) {
    const Param *p = graph_find_param(g, param->attr.name);
    if (!p) bug(param, "has no entry among the parameters");
    return &p->init;
}

Node *rebuild_copy(Rebuild *r, const Node *old, Node **in, Attr attr) {
    const char *error;
    if (op_info[old->op].attr == NAME) attr.name = graph_string(r->to, attr.name);
    Node *n = old->op == OP_param && !r->map[old->id]
        ? graph_param(r->to, attr.name, old->shape, *init_of(r->from, old), &error)
        : node_new(r->to, old->op, old->nin, in, attr, &error);
    if (!n) bug(old, "cannot be copied: %s", error);
    return n;
}

static void copy_one(Rebuild *r, RebuildRule rule, const Node *old) {
    Node **in = graph_alloc(r->to, ((size_t)old->nin + 1) * sizeof *in);
    for (int i = 0; i < old->nin; i++)
        in[i] = r->map[old->in[i]->id];
    r->to->loc = graph_loc(r->to, old->loc);
    r->to->site = graph_string(r->to, old->site);
    r->to->backward = old->backward;
    Node *n = rule ? rule(r, old, in) : NULL;
    r->map[old->id] = n ? n : rebuild_copy(r, old, in, old->attr);
}

void rebuild_ahead(Rebuild *r, const Node *old) {
    Loc loc = r->to->loc;
    const char *site = r->to->site;
    bool backward = r->to->backward;
    copy_one(r, NULL, old);
    r->to->loc = loc;
    r->to->site = site;
    r->to->backward = backward;
}

Graph *rebuild(Graph *g, RebuildRule rule, void *user) {
    Rebuild r = { .from = g, .to = graph_new(), .user = user };
    r.to->bf16 = g->bf16;
    r.map = graph_alloc(g, ((size_t)g->n + 1) * sizeof *r.map);
    bool *needed = graph_alloc(g, (size_t)g->n + 1);
    for (int i = 0; i < g->nout; i++)
        needed[g->out[i].node->id] = true;
    graph_mark_operands(g, needed);
    /* Parameters keep their order, which fixes initial values' and files' order. */
    for (int i = 0; i < g->nparam; i++)
        if (needed[g->param[i].node->id]) copy_one(&r, rule, g->param[i].node);
    for (int i = 0; i < g->n; i++)
        if (needed[i] && !r.map[i]) copy_one(&r, rule, g->node[i]);
    r.to->loc = (Loc){ 0 };
    r.to->site = NULL;
    r.to->backward = false;
    for (int i = 0; i < g->nout; i++)
        graph_output(r.to, g->out[i].name, r.map[g->out[i].node->id]);
    graph_free(g);
    return r.to;
}
