/* SPDX-License-Identifier: MIT
** Nodes, parameters and outputs.  Only node_new creates nodes.  It runs the row's shape rule, so
** that every node has the shape that its operands give it, and returns an equal node if there is
** one.
*/
#include "fatal.h"
#include "op.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

/* == Interning ============================================================ */

static bool same_node(const void *item, const void *key) {
    const Node *a = item, *b = key;
    return a->op == b->op && a->nin == b->nin
        && (!a->nin || !memcmp(a->in, b->in, (size_t)a->nin * sizeof *a->in)) && a->attr == b->attr;
}

static uint64_t hash_node(const Node *n) {
    uint64_t h = hash_word(HASH_START, (uint64_t)n->op);
    for (int i = 0; i < n->nin; i++)
        h = hash_word(h, (uint64_t)n->in[i]->id);
    return hash_word(h, (uint64_t)(uintptr_t)n->attr);
}

/* == Memory =============================================================== */

static Graph *made(Pool *pool) {
    Graph *g = checked_new(1, sizeof *g);
    g->pool = pool;
    g->mem = checked_new(1, sizeof *g->mem);
    g->scratch = checked_new(1, sizeof *g->scratch);
    g->interned = checked_new(1, sizeof *g->interned);
    g->names = checked_new(1, sizeof *g->names);
    return g;
}

Graph *graph_new(void) { return made(pool_new()); }

Graph *graph_new_like(const Graph *g) {
    Graph *own = made(pool_share(g->pool));
    own->expected = g->n;
    return own;
}

void graph_seal(Graph *g) {
    table_free(g->interned);
    g->found = 0;
    arena_free(g->scratch);
}

void graph_free(Graph *g) {
    if (!g) return;
    pool_leave(g->pool);
    table_free(g->interned);
    table_free(g->names);
    arena_free(g->mem);
    arena_free(g->scratch);
    free(g->interned);
    free(g->names);
    free(g->mem);
    free(g->scratch);
    free(g);
}

void *graph_grown(Graph *g, void *old, int n, int *cap, size_t size) {
    if (n < *cap) return old;
    *cap = n ? 2 * n : 16;
    void *array = graph_alloc(g, (size_t)*cap * size);
    if (n) memcpy(array, old, (size_t)n * size);
    return array;
}

void *graph_scratch(Graph *g, size_t size) { return arena_take(g->scratch, size); }

/* == Names ================================================================ */

static bool same_name(const void *item, const void *key) {
    return ((const Name *)item)->text == key;
}

static uint64_t hash_name(const char *text) {
    return hash_word(HASH_START, (uint64_t)(uintptr_t)text);
}

/* Of a text that the pool has. */
static Name *find_interned(const Graph *g, const char *text) {
    return table_find(g->names, hash_name(text), same_name, text);
}

static Name *name_interned(Graph *g, const char *text) {
    Name *name = find_interned(g, text);
    if (name) return name;
    name = graph_alloc(g, sizeof *name);
    name->text = text;
    table_add(g->names, hash_name(text), name);
    return name;
}

Name *graph_name_find(const Graph *g, const char *s) {
    const char *text = pool_find(g->pool, s);
    return text ? find_interned(g, text) : NULL;
}

Name *graph_name(Graph *g, const char *s) { return name_interned(g, pool_text(g->pool, s)); }

Loc graph_loc(Graph *g, Loc loc) {
    loc.file = graph_string(g, loc.file);
    loc.origin = graph_string(g, loc.origin);
    return loc;
}

/* == Nodes ================================================================ */

enum { LEAST_NODES = 256 };

static Node *append(Graph *g, const Node *key) {
    if (g->n == INT32_MAX / 2) limit_hit("graph: expected at most %d nodes, found more", g->n);
    if (g->n == g->cap) {
        Node **old = g->node;
        g->cap = g->cap ? 2 * g->cap : g->expected > LEAST_NODES ? g->expected : LEAST_NODES;
        g->node = graph_alloc(g, (size_t)g->cap * sizeof *g->node);
        if (old) memcpy(g->node, old, (size_t)g->n * sizeof *old);
    }
    Node *n = graph_alloc(g, sizeof *n);
    *n = *key;
    n->id = g->n;
    n->in = graph_alloc(g, (size_t)n->nin * sizeof *n->in);
    if (n->nin) memcpy(n->in, key->in, (size_t)n->nin * sizeof *n->in);
    n->side = NULL;
    if (op_info[n->op].results > 1) {
        n->side = graph_alloc(g, sizeof *n->side * (size_t)op_info[n->op].results);
        memcpy(n->side, key->side, sizeof *n->side * (size_t)op_info[n->op].results);
    }
    if (n->op == OP_rows) graph_add_list(g, n);
    return g->node[g->n++] = n;
}

static const char *check_operands(Graph *g, const Node *n) {
    int arity = op_info[n->op].arity;
    if (arity >= 0 ? n->nin != arity : n->nin < 1)
        return graph_format(g, "takes %s%d operand%s, found %d", arity < 0 ? "at least " : "",
                            arity < 0 ? 1 : arity, arity == 1 || arity < 0 ? "" : "s", n->nin);
    for (int i = 0; i < n->nin; i++)
        if (!n->in[i] || n->in[i]->g != g) bug(n, "operand %d is of another graph", i);
    return NULL;
}

static const char *check_results(Graph *g, const Node *n) {
    const char *error = shape_check(g, &n->shape);
    for (int r = 1; !error && r < op_info[n->op].results; r++)
        error = shape_check(g, &n->side[r]);
    return error;
}

/* Ops whose shape rules say whose rows their results are. */
static bool crosses(Op op) {
    return op == OP_gather || op == OP_scatter || op == OP_attention || op == OP_attention_grad
        || op == OP_side;
}

const char *node_shape(Node *n) {
    const Shape *of = NULL;
    for (int i = 0; !crosses(n->op) && i < n->nin; i++) {
        const Shape *s = &n->in[i]->shape;
        if (n->in[i]->op == OP_rows) return "what rows() returned is for gather and scatter only";
        if (s->lead != LEAD_TOKENS) continue;
        if (of && of->list != s->list)
            return graph_format(n->g, "rows of different tokens do not mix: %s and %s",
                                shape_text(n->g, of), shape_text(n->g, s));
        of = s;
    }
    const char *error = op_info[n->op].shape(n);
    if (error || !of) return error;
    for (int r = 0; r < op_info[n->op].results; r++) {
        Shape *s = r ? &n->side[r] : &n->shape;
        s->list = s->lead == LEAD_TOKENS ? of->list : 0;
    }
    return NULL;
}

void graph_intern(Graph *g) {
    if (!g->found && g->n)
        table_reserve(g->interned, (size_t)(g->n > g->expected ? g->n : g->expected));
    while (g->found < g->n) {
        Node *n = g->node[g->found++];
        table_add(g->interned, hash_node(n), n);
    }
}

static Node *intern(Graph *g, Op op, int nin, Node **in, const Attr *attr, const char **error) {
    Shape side[MAXRESULT] = { { 0 } };
    Node key = { .g = g,
                 .id = g->n,
                 .op = op,
                 .nin = nin,
                 .in = in,
                 .attr = attr,
                 .side = side,
                 .loc = g->loc,
                 .site = g->site,
                 .backward = g->backward };
    *error = check_operands(g, &key);
    if (!*error) *error = node_shape(&key);
    if (!*error) *error = check_results(g, &key);
    if (*error) return NULL;
    graph_intern(g);
    uint64_t hash = hash_node(&key);
    Node *n = table_find(g->interned, hash, same_node, &key);
    if (n) return n;
    n = append(g, &key);
    table_add(g->interned, hash, n);
    g->found = g->n;
    return n;
}

Node *node_new(Graph *g, Op op, int nin, Node **in, Attr attr, const char **error) {
    if ((unsigned)op >= NOP) bug(NULL, "there is no op %d", (int)op);
    return intern(g, op, nin, in, pool_attr(g->pool, op, &attr), error);
}

Node *node_again(Graph *g, const Node *old, Node **in, const char **error) {
    if (old->g->pool != g->pool) bug(old, "is copied to a graph that shares nothing with its own");
    return intern(g, old->op, old->nin, in, old->attr, error);
}

Node *node_known(Graph *g, Op op, int nin, Node **in, const Attr *attr) {
    Node key = { .op = op, .nin = nin, .in = in, .attr = attr };
    graph_intern(g);
    return table_find(g->interned, hash_node(&key), same_node, &key);
}

Node *op_build(Graph *g, Op op, int nin, Node **in, Attr attr) {
    const char *error;
    Node *n = node_new(g, op, nin, in, attr, &error);
    if (!n) bug(nin ? in[0] : NULL, "building %s: %s", op_info[op].name, error);
    return n;
}

Node *op_build1(Op op, Node *x, Attr attr) { return op_build(x->g, op, 1, &x, attr); }

bool class_is_row(Class c) { return c >= POINTWISE && c <= WAVE; }

/* == Parameters and outputs =============================================== */

/* The array with room for one more element than the n it has: twice as large where it was full. */
static void *room(Graph *g, void *array, int n, size_t size) {
    if (n & (n - 1)) return array; /* not full: capacities are powers of two */
    void *grown = graph_alloc(g, (n ? 2 * (size_t)n : 1) * size);
    if (n) memcpy(grown, array, (size_t)n * size);
    return grown;
}

static Init init_copy(Graph *g, Init init, int64_t count) {
    if (init.kind == INIT_UNIFORM) count = init.points;
    else if (init.kind != INIT_LIST) {
        init.list = NULL;
        return init;
    }
    double *list = graph_alloc(g, (size_t)count * sizeof *list);
    memcpy(list, init.list, (size_t)count * sizeof *list);
    init.list = list;
    init.value = 0;
    return init;
}

static Node *add_param(Graph *g, Name *entry, Node *n, Init init) {
    g->param = room(g, g->param, g->nparam, sizeof *g->param);
    g->param[g->nparam++] = (Param){ .node = n,
                                     .init = init_copy(g, init, shape_count(&n->shape)) };
    entry->param = g->nparam;
    return n;
}

static Node *graph_named(Graph *g, Attr attr, Init init, const char **error) {
    const char *name = attr.name;
    Name *entry = graph_name(g, name);
    Shape s = attr.shape;
    if (entry->param) {
        Node *old = g->param[entry->param - 1].node;
        s.lead = LEAD_NONE;
        *error = attr.buffer != old->attr->buffer
            ? graph_format(g, "'%s' exists as a %s", name, attr.buffer ? "parameter" : "buffer")
            : shape_equal(&s, &old->shape)
            ? NULL
            : graph_format(g, "parameter '%s' exists with shape %s, not %s", name,
                           shape_text(g, &old->shape), shape_text(g, &s));
        return *error ? NULL : old;
    }
    Node *n = node_new(g, OP_param, 0, NULL, attr, error);
    if (!n) return NULL;
    return add_param(g, entry, n, init);
}

void graph_tune(Graph *g, const char *param, Tuning t) {
    Name *entry = graph_name(g, param);
    if (!entry->param) bug(NULL, "there is no parameter '%s'", param);
    g->param[entry->param - 1].tuning = t;
}

Node *graph_param(Graph *g, const char *name, Shape s, Init init, const char **error) {
    return graph_named(g, (Attr){ .name = name, .shape = s }, init, error);
}

Node *graph_buffer(Graph *g, const char *name, Shape s, Init init, const char **error) {
    return graph_named(g, (Attr){ .name = name, .shape = s, .buffer = true }, init, error);
}

Node *graph_small(Graph *g, const Param *p, int bits) {
    const char *error;
    Attr attr = *p->node->attr;
    attr.bits = bits;
    Node *n = graph_named(g, attr, p->init, &error);
    if (!n) bug(p->node, "cannot be made small weights: %s", error);
    graph_tune(g, attr.name, p->tuning);
    return n;
}

Node *node_twin(Graph *g, const Node *old, Node **in, const Param *p) {
    const char *error;
    if (g->found) {
        Node *n = p ? graph_named(g, *old->attr, p->init, &error) : node_again(g, old, in, &error);
        if (!n) bug(old, "cannot be copied: %s", error);
        if (p) graph_tune(g, old->attr->name, p->tuning);
        return n;
    }
    if (old->g->pool != g->pool) bug(old, "is copied to a graph that shares nothing with its own");
    Node key = *old;
    key.g = g;
    key.in = in;
    Node *n = append(g, &key);
    if (!p) return n;
    add_param(g, name_interned(g, old->attr->name), n, p->init);
    g->param[g->nparam - 1].tuning = p->tuning;
    return n;
}

void graph_output(Graph *g, const char *name, Node *n) {
    Name *entry = graph_name(g, name);
    if (n->g != g) bug(n, "output '%s' is of another graph", name);
    if (!entry->output) {
        g->out = room(g, g->out, g->nout, sizeof *g->out);
        entry->output = ++g->nout;
    }
    bool gradient = !strncmp(name, GRADIENT, sizeof GRADIENT - 1);
    g->out[entry->output - 1] = (NamedNode){ entry->text, n,
                                             gradient ? entry->text + sizeof GRADIENT - 1 : NULL };
}

void graph_keep_outputs(Graph *g, bool kept(const char *name, void *user), void *user) {
    int n = 0;
    for (int i = 0; i < g->nout; i++) {
        bool stays = kept(g->out[i].name, user);
        find_interned(g, g->out[i].name)->output = stays ? n + 1 : 0;
        if (stays) g->out[n++] = g->out[i];
    }
    g->nout = n;
}

Node *graph_find(const Graph *g, const char *output) {
    const Name *entry = graph_name_find(g, output);
    return entry && entry->output ? g->out[entry->output - 1].node : NULL;
}

const Param *graph_find_param(const Graph *g, const char *name) {
    const Name *entry = graph_name_find(g, name);
    return entry && entry->param ? &g->param[entry->param - 1] : NULL;
}

const Param *graph_param_of(const Node *param) {
    const Name *entry = find_interned(param->g, param->attr->name);
    if (!entry || !entry->param) bug(param, "has no entry among the parameters");
    return &param->g->param[entry->param - 1];
}
