/* SPDX-License-Identifier: MIT
** See fuzz_graph.h: a pool of values grows by ops drawn uniformly from the table (fuzz_draw.h). */
#include <stdlib.h>

#include "fuzz_draw.h"

static Node *keep(Fuzz *f, Node *n) {
    if (f->n < POOL && n->shape.type == F32 && shape_count(&n->shape) <= MOST) f->pool[f->n++] = n;
    return n;
}

static void start(Fuzz *f) {
    Node *ids = op_source(f->g, OP_tokens), *place = op_source(f->g, OP_position);
    keep(f, op_embed(fuzz_param(f, (Shape){ .rank = 2, .dim = { FUZZ_VOCAB, 8 } }), ids));
    keep(f, op_embed(fuzz_param(f, (Shape){ .rank = 2, .dim = { FUZZ_CONTEXT, 8 } }), place));
    keep(f, fuzz_param(f, (Shape){ .rank = 1, .dim = { 8 } }));
    keep(f, fuzz_param(f, (Shape){ 0 }));
}

/* Marks what other nodes use; what is left is what the loss is made of. */
static bool *used(const Graph *g) {
    bool *u = calloc((size_t)g->n, sizeof *u);
    if (!u) abort();
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->node[i]->nin; k++)
            u[g->node[i]->in[k]->id] = true;
    return u;
}

static Node *finish(Fuzz *f) {
    Node *loss = op_fill(f->g, 0), *share = op_source(f->g, OP_per_token);
    bool *taken = used(f->g);
    int leaves = 0;
    for (int i = 0; i < f->n; i++) {
        char name[32];
        Node *y = f->pool[i];
        if (taken[y->id]) continue;
        taken[y->id] = true; /* it may be in the pool twice */
        snprintf(name, sizeof name, "leaf.%d", leaves++);
        y = fuzz_dense(y);
        graph_output(f->g, name, y);
        Node *part = weighted_sum(y, &f->random);
        if (y->shape.lead == LEAD_TOKENS) part = op_mul(part, share);
        loss = op_add(loss, part);
    }
    free(taken);
    return loss;
}

Graph *fuzz_graph(uint64_t seed, int ops) {
    Fuzz *f = calloc(1, sizeof *f);
    if (!f) abort();
    f->g = graph_new();
    f->random.state = seed;
    start(f);
    for (int i = 0; i < ops; i++) {
        Op op = (Op)draw_below(&f->random, NOP);
        if (op != OP_bf16 && op != OP_statistic) keep(f, fuzz_draw(f, op));
    }
    graph_output(f->g, "loss", finish(f));
    Graph *g = f->g;
    free(f);
    return g;
}
