/* SPDX-License-Identifier: MIT
** Rules of buffers: a training step computes a buffer's new value from its old value and a
** statistic that was summed over tokens.  The statistic is an output of the model's graph; the new
** value is an output of f->g that becomes a graph of its own (rules_graph).
*/
#include "bindings.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

static Node *get_buffer(lua_State *L, int arg) {
    Node **p = tensor_at(L, arg);
    if (!p || (*p)->op != OP_param || !(*p)->attr->buffer)
        spec_fail(L, "rule: expected a buffer, what m:buffer() returned, as its first argument");
    return *p;
}

static const char *output_name(lua_State *L, const char *prefix, const Node *buffer) {
    return lua_pushfstring(L, "%s%s", prefix, buffer->attr->name);
}

int rules_call_statistic(lua_State *L) {
    Node *b = get_buffer(L, 1);
    Attr attr = { .name = b->attr->name, .shape = b->shape };
    return tensor_push(L, tensor_build(L, OP_statistic, 0, NULL, attr));
}

static void check_shape(lua_State *L, const char *what, const Node *n, const Node *buffer) {
    if (shape_equal(&n->shape, &buffer->shape)) return;
    spec_fail(L, "rule: expected %s of the shape %s of '%s', found %s", what,
              lua_pushstring(L, shape_text(n->g, &buffer->shape)), buffer->attr->name,
              shape_text(n->g, &n->shape));
}

/* What the new value may not be made of; NULL: it is made of the buffer and its statistic. */
static const Node *stranger(const Graph *g, const Node *next, const Node *buffer) {
    bool *made = graph_alloc((Graph *)g, (size_t)g->n + 1);
    const Node *found = NULL;
    made[next->id] = true;
    graph_mark_operands(g, made);
    for (int i = 0; i < g->n && !found; i++) {
        const Node *n = g->node[i];
        bool own = n == buffer || (n->op == OP_statistic && n->attr->name == buffer->attr->name);
        if (made[i] && op_info[n->op].class == SOURCE && n->op != OP_fill && !own) found = n;
    }
    return found;
}

/* A buffer that several layers share has the sum of their statistics, and one rule. */
int rules_call(lua_State *L) {
    Graph *g = front(L)->g;
    Node *b = get_buffer(L, 1), *sum = tensor_get(L, 2, "rule"), *next = tensor_get(L, 3, "rule");
    check_shape(L, "a statistic", sum, b);
    check_shape(L, "a new value", next, b);
    const Node *other = stranger(g, next, b);
    if (other)
        spec_fail(L, "rule: expected a new value made of '%s' and its statistic, found %s in it",
                  b->attr->name, other->attr->name ? other->attr->name : op_info[other->op].name);
    next = tensor_build(L, OP_after, 2, (Node *[]){ next, b }, (Attr){ 0 }); /* needs the buffer */
    const char *statistic = output_name(L, STATISTIC, b), *value = output_name(L, GRADIENT, b);
    Node *before = graph_find(g, statistic), *rule = graph_find(g, value);
    if (rule && rule != next)
        spec_fail(L, "rule: expected one rule for '%s', found another", b->attr->name);
    if (before) {
        Node *in[] = { before, sum };
        sum = tensor_build(L, OP_add, 2, in, (Attr){ 0 });
    }
    graph_output(g, statistic, sum);
    graph_output(g, value, next);
    return 0;
}

static bool starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* A buffer that is frozen stays as it is. */
static bool is_frozen(const Graph *g, const char *buffer) {
    const Param *p = graph_find_param(g, buffer);
    return p && p->tuning.frozen;
}

const char **rules_outputs(const Graph *g, const char *const *always) {
    const char **name = graph_alloc((Graph *)g, ((size_t)g->nout + 1) * sizeof *name);
    int n = 0;
    for (; always[n]; n++)
        name[n] = always[n];
    for (int i = 0; i < g->nout; i++)
        if (starts(g->out[i].name, STATISTIC)
            && !is_frozen(g, g->out[i].name + sizeof STATISTIC - 1))
            name[n++] = g->out[i].name;
    return name;
}

Graph *rules_graph(const Graph *g, const Graph *kept) {
    const char **name = checked_new((size_t)g->nout + 1, sizeof *name);
    int n = 0;
    for (int i = 0; i < g->nout; i++)
        if (g->out[i].param && graph_find_param(kept, g->out[i].param)
            && !is_frozen(g, g->out[i].param))
            name[n++] = g->out[i].name;
    Graph *rules = n ? graph_extract(g, name) : NULL;
    free(name);
    return rules;
}
