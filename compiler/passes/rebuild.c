/* SPDX-License-Identifier: MIT
** Copies a graph with changes.  The nodes that a rule builds for an old node get the old node's
** location, site and backward mark.
*/
#include "rebuild.h"

#include <string.h>

static const Param *param_of(const Node *n) { return n->op == OP_param ? graph_param_of(n) : NULL; }

Node *rebuild_copy(Rebuild *r, const Node *old, Node **in) {
    const char *error;
    const Param *first = r->map[old->id] ? NULL : param_of(old);
    Node *n = first ? graph_param(r->to, old->attr->name, old->shape, first->init, &error)
                    : node_again(r->to, old, in, &error);
    if (!n) bug(old, "cannot be copied: %s", error);
    if (first) graph_tune(r->to, old->attr->name, first->tuning);
    return n;
}

Node *rebuild_as(Rebuild *r, const Node *old, Node **in, Attr attr) {
    const char *error;
    Node *n = node_new(r->to, old->op, old->nin, in, attr, &error);
    if (!n) bug(old, "cannot be rebuilt: %s", error);
    return n;
}

static void copy_one(Rebuild *r, RebuildRule rule, const Node *old) {
    Node *few[8], **in = few;
    if (old->nin > 8) in = graph_alloc(r->to, (size_t)old->nin * sizeof *in);
    for (int i = 0; i < old->nin; i++)
        in[i] = r->map[old->in[i]->id];
    r->to->loc = old->loc;
    r->to->site = old->site;
    r->to->backward = old->backward;
    Node *n = rule ? rule(r, old, in) : NULL;
    bool same = !n;
    for (int i = 0; same && i < old->nin; i++)
        same = in[i] == r->map[old->in[i]->id];
    if (!same) graph_intern(r->to);
    r->map[old->id] = n ? n : node_twin(r->to, old, in, param_of(old));
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

Graph *rebuild_needed(Graph *g, const bool *needed, RebuildRule rule, void *user) {
    Rebuild r = { .from = g, .to = graph_new_like(g), .user = user };
    r.to->bf16 = g->bf16;
    r.map = graph_alloc(g, ((size_t)g->n + 1) * sizeof *r.map);
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

Graph *rebuild(Graph *g, RebuildRule rule, void *user) {
    return rebuild_needed(g, graph_needed(g), rule, user);
}
