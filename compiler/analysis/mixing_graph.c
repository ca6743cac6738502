/* SPDX-License-Identifier: MIT
** Copies the part of the model's graph that reads need, with the sources cut off, finds out which
** nodes are values, and walks back from a read through values only.
**
** The gradient rules (the vjp column of ops.def) say what is linear: an operation is linear in an
** operand if the rule for it mentions neither that operand nor the result, and in several operands
** at once if no rule mentions any of them.  Attention is an exception, because its rule is one
** operation: it mixes values with weights from queries and keys, so it is linear in its third
** operand.  A product that makes one number per token is a score.  It is a weight, even if it
** multiplies the value that it was made from.
**
** If routes give layers only some tokens, reads are those of a token that every layer works on:
** gather and scatter pass on what they get.  Nodes that only a training step runs are left out.
*/
#include "mixing_graph.h"

#include <stdlib.h>
#include <string.h>

/* == Building blocks ====================================================== */

static Node *build(Graph *g, Op op, int nin, Node **in, Attr attr) {
    const char *error;
    Node *n = node_new(g, op, nin, in, attr, &error);
    if (!n) bug(NULL, "depth mixing: %s: %s", op_info[op].name, error);
    return n;
}

/* A parameter with a row per token id, to be looked up as [tokens, s]. */
static Node *table_of(Graph *g, const char *name, int64_t rows, const Shape *s) {
    const char *error;
    Shape table = { .rank = 2, .dim = { rows, shape_count(s) } };
    Node *w = graph_param(g, name, table, (Init){ .kind = INIT_CONSTANT }, &error);
    if (!w) bug(NULL, "depth mixing: %s: %s", name, error);
    return w;
}

static Node *graph_rows_of(Node *table, const Shape *s) {
    return op_reshape(op_embed(table, op_source(table->g, OP_tokens)), s);
}

/* == The copy ============================================================= */

/* The operand that a node hands on as it is: it takes rows to some tokens or back, or chooses
** between what is trained and what is there otherwise.  -1: none. */
static int handed_on(const Node *n) {
    if (n->op == OP_gather || n->op == OP_scatter) return 0;
    return n->op == OP_select && n->in[0]->op == OP_training ? 2 : -1;
}

/* Nodes that reads are made of, without what sources are made of. */
static void mark_needed(const Model *m, const int *source, bool *needed) {
    for (int r = 0; r < m->nread; r++)
        if (m->read[r].result) needed[m->read[r].result->id] = true;
    for (int i = m->graph->n; i-- > 0;) {
        const Node *n = m->graph->node[i];
        int one = handed_on(n);
        for (int k = 0; needed[i] && source[i] < 0 && k < n->nin; k++)
            if (one < 0 || one == k) needed[n->in[k]->id] = true;
    }
}

static Node *copy_param(Graph *g, const Node *n) {
    const char *error;
    Node *p = graph_param(g, n->attr->name, n->shape, (Init){ .kind = INIT_CONSTANT }, &error);
    if (!p) bug(n, "depth mixing: %s", error);
    return p;
}

static Node *copy_node(MixingGraph *x, const Node *n) {
    if (handed_on(n) >= 0) return x->twin[n->in[handed_on(n)]->id];
    Node **in = graph_alloc(x->g, ((size_t)n->nin + 1) * sizeof *in);
    for (int k = 0; k < n->nin; k++)
        in[k] = x->twin[n->in[k]->id];
    return n->op == OP_param ? copy_param(x->g, n) : build(x->g, n->op, n->nin, in, *n->attr);
}

/* == Values =============================================================== */

static bool is_operand(const Node *n, const Node *x) {
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] == x) return true;
    return false;
}

/* Is dx made of n, or of an operand of n that is a value?  'value' is by operand. */
static bool mentions(const Node *dx, const Node *n, const bool *value) {
    if (dx == n) return true;
    if (is_operand(n, dx)) {
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] == dx && value[k]) return true;
        return false;
    }
    for (int k = 0; k < dx->nin; k++)
        if (mentions(dx->in[k], n, value)) return true;
    return false;
}

/* The cotangents of n's operands when that of its result is dy. */
static Node **pull(MixingGraph *x, Node *n, Node *dy) {
    Node *all[MAXRESULT] = { dy }, **dx = graph_alloc(x->g, ((size_t)n->nin + 1) * sizeof *dx);
    op_info[n->op].vjp(n, all, dx);
    return dx;
}

static Node *probe(MixingGraph *x, const Node *n) {
    char name[160];
    snprintf(name, sizeof name, "probe %s", shape_text(x->g, &n->shape));
    return graph_rows_of(table_of(x->g, name, 1, &n->shape), &n->shape);
}

static bool is_linear(MixingGraph *x, const Node *n, Node *twin) {
    bool *value = graph_alloc(x->g, (size_t)n->nin + 1), linear = true;
    int values = 0;
    for (int k = 0; k < n->nin; k++)
        values += value[k] = x->kind[n->in[k]->id] == NODE_VALUE;
    Class class = op_info[n->op].class;
    if (class == CONTRACT && shape_count(&n->shape) == 1) return false;
    if (!values || class == SIDE || n->shape.lead != LEAD_TOKENS || n->shape.type != F32)
        return false;
    if (mixes_values(n)) return value[2];
    Node **dx = pull(x, twin, probe(x, n));
    for (int k = 0; k < n->nin && linear; k++)
        linear = !value[k] || (dx[k] && !mentions(dx[k], twin, value));
    return linear;
}

static int graph_kind_of(MixingGraph *x, const Node *n) {
    bool depends = false;
    if (handed_on(n) >= 0) return x->kind[n->in[handed_on(n)]->id];
    for (int k = 0; k < n->nin; k++)
        depends |= x->kind[n->in[k]->id] != NODE_CONSTANT;
    return !depends ? NODE_CONSTANT : is_linear(x, n, x->twin[n->id]) ? NODE_VALUE : NODE_WEIGHT;
}

/* == All of it ============================================================ */

static int *sources_by_id(const Model *m, Graph *g) {
    int *source = graph_alloc(g, ((size_t)m->graph->n + 1) * sizeof *source);
    for (int i = 0; i < m->graph->n; i++)
        source[i] = -1;
    for (int s = m->nsource; s-- > 0;)
        if (m->source[s]) source[m->source[s]->id] = s;
    return source;
}

/* 'table' has the rows of each source. */
static void describe_params(MixingGraph *x, Node *const *table) {
    size_t n = (size_t)x->g->n + 1;
    x->origins = x->g->n;
    x->origin = graph_alloc(x->g, n * sizeof *x->origin);
    x->source = graph_alloc(x->g, n * sizeof *x->source);
    for (int i = 0; i < x->g->n; i++)
        x->origin[i] = -1, x->source[i] = x->m->nsource;
    for (int s = 0; s < x->m->nsource; s++)
        if (table[s]) x->source[table[s]->id] = s;
    for (int i = 0; i < x->m->graph->n; i++)
        if (x->twin[i] && x->m->graph->node[i]->op == OP_param) x->origin[x->twin[i]->id] = i;
}

static Node *source_table(Graph *g, int source, int samples, const Shape *s) {
    char name[32];
    snprintf(name, sizeof name, "source %d", source);
    return table_of(g, name, samples, s);
}

MixingGraph *mixing_graph_new(const Model *m, int samples) {
    Graph *g = graph_new();
    MixingGraph *x = graph_alloc(g, sizeof *x);
    size_t n = (size_t)m->graph->n + 1;
    *x = (MixingGraph){ .g = g,
                        .m = m,
                        .kind = graph_alloc(g, n * sizeof *x->kind),
                        .twin = graph_alloc(g, n * sizeof *x->twin) };
    int *source = sources_by_id(m, g);
    bool *needed = graph_alloc(g, n * sizeof *needed);
    Node **table = graph_alloc(g, ((size_t)m->nsource + 1) * sizeof *table);
    Shape row = { .rank = 1, .dim = { m->dim } };
    mark_needed(m, source, needed);
    for (int i = 0; i < m->graph->n; i++) {
        const Node *from = m->graph->node[i];
        int s = source[i];
        if (!needed[i]) continue;
        if (s >= 0) table[s] = source_table(g, s, samples, &from->shape);
        x->twin[i] = s < 0 ? copy_node(x, from) : graph_rows_of(table[s], &from->shape);
        x->kind[i] = s < 0 ? graph_kind_of(x, from) : NODE_VALUE;
    }
    x->direction = graph_rows_of(table_of(g, "direction", samples, &row), &row);
    describe_params(x, table);
    return x;
}

void mixing_graph_free(MixingGraph *x) {
    if (x) graph_free(x->g);
}

/* == A read's weights ===================================================== */

static void graph_name_of(char name[48], int read, int source) {
    snprintf(name, 48, "%d of %d", source, read);
}

static void graph_accumulate(Node **slot, Node *dx, const Shape *s) {
    dx = op_fit(dx, s);
    *slot = *slot ? op_add(*slot, dx) : dx;
}

/* Hands the cotangent of a value on to the values it is made of. */
static void graph_push(MixingGraph *x, const Node *n, Node **cotangent) {
    if (handed_on(n) >= 0) {
        graph_accumulate(&cotangent[n->in[handed_on(n)]->id], cotangent[n->id],
                         &x->twin[n->id]->shape);
        return;
    }
    Node **dx = pull(x, x->twin[n->id], cotangent[n->id]);
    for (int k = mixes_values(n) ? 2 : 0; k < n->nin; k++) {
        const Node *in = n->in[k];
        if (dx[k] && x->kind[in->id] == NODE_VALUE)
            graph_accumulate(&cotangent[in->id], dx[k], &x->twin[in->id]->shape);
    }
}

void mixing_graph_read(MixingGraph *x, int read) {
    const Model *m = x->m;
    const Node *h = m->read[read].result;
    if (!h || x->kind[h->id] != NODE_VALUE) return;
    int *source = sources_by_id(m, x->g);
    Node **cotangent = graph_alloc(x->g, ((size_t)m->graph->n + 1) * sizeof *cotangent);
    cotangent[h->id] = x->direction;
    for (int i = h->id; i >= 0; i--) {
        char name[48];
        if (!cotangent[i] || x->kind[i] != NODE_VALUE) continue;
        graph_name_of(name, read, source[i]);
        if (source[i] >= 0) graph_output(x->g, name, cotangent[i]);
        else graph_push(x, m->graph->node[i], cotangent);
    }
}

Node *mixing_graph_weight(const MixingGraph *x, int read, int source) {
    char name[48];
    graph_name_of(name, read, source);
    return graph_find(x->g, name);
}
