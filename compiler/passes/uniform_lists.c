/* SPDX-License-Identifier: MIT
** Long stacks of parameters and numbers: see uniform_lists.h. */
#include "uniform_lists.h"

#include "gradient_runs.h"
#include "plan.h"
#include "table.h"

#include <stdlib.h>

/* So many pieces of a stack, the first ones. */
typedef struct Beginning {
    const Node *stack;
    int length;
} Beginning;

struct UniformLists {
    Graph *g;
    const Node **longest; /* by id: the stack of which this one is the beginning; NULL: none */
    Node **kept;          /* by id of a longest one: its copy; NULL: not made yet */
    Table known;          /* beginnings of the longest ones */
};

static bool lists_is_long(const Node *n) {
    if (n->op != OP_stack || n->shape.lead != LEAD_NONE || n->nin <= RUN_PIECES) return false;
    for (int i = 0; i < n->nin; i++) {
        const Node *x = plan_storage(n->in[i]);
        if (x->op != OP_param && x->op != OP_fill) return false;
    }
    return true;
}

static uint64_t hash_next(uint64_t hash, const Node *stack, int piece) {
    return hash_word(hash, (uint64_t)stack->in[piece]->id);
}

static bool same_beginning(const void *item, const void *key) {
    const Beginning *a = item, *b = key;
    if (a->length != b->length) return false;
    for (int i = 0; i < a->length; i++)
        if (a->stack->in[i] != b->stack->in[i]) return false;
    return true;
}

static const Node *find_longest(const UniformLists *u, const Node *stack) {
    uint64_t hash = HASH_START;
    for (int i = 0; i < stack->nin; i++)
        hash = hash_next(hash, stack, i);
    const Beginning *b = table_find(&u->known, hash, same_beginning,
                                    &(Beginning){ stack, stack->nin });
    return b ? b->stack : NULL;
}

static void add_longest(UniformLists *u, const Node *stack) {
    uint64_t hash = HASH_START;
    Beginning *b = graph_alloc(u->g, ((size_t)stack->nin + 1) * sizeof *b);
    for (int i = 0; i < stack->nin; i++) {
        hash = hash_next(hash, stack, i);
        b[i] = (Beginning){ stack, i + 1 };
        if (i >= RUN_PIECES) table_add(&u->known, hash, &b[i]);
    }
}

static int by_length(const void *x, const void *y) {
    const Node *a = *(const Node *const *)x, *b = *(const Node *const *)y;
    return a->nin != b->nin ? b->nin - a->nin : a->id - b->id;
}

UniformLists *uniform_lists(Graph *g) {
    UniformLists *u = graph_alloc(g, sizeof *u);
    size_t size = ((size_t)g->n + 1) * sizeof(Node *);
    const Node **stack = graph_alloc(g, size);
    *u = (UniformLists){ .g = g, .longest = graph_alloc(g, size), .kept = graph_alloc(g, size) };
    int n = 0;
    for (int i = 0; i < g->n; i++)
        if (lists_is_long(g->node[i])) stack[n++] = g->node[i];
    qsort(stack, (size_t)n, sizeof *stack, by_length);
    for (int i = 0; i < n; i++) {
        const Node *longest = find_longest(u, stack[i]);
        if (!longest) add_longest(u, longest = stack[i]);
        u->longest[stack[i]->id] = longest;
    }
    table_free(&u->known);
    return u;
}

/* Later pieces are not copied yet, but they are views of parameters, which are copied, or of
** numbers. */
static Node *piece(Rebuild *r, const Node *x) {
    const Node *of = plan_storage(x);
    Shape s = x->shape;
    s.rank++;
    for (int i = s.rank - 1; i > 0; i--)
        s.dim[i] = s.dim[i - 1];
    s.dim[0] = 1;
    return of->op == OP_fill ? op_full(r->to, &s, of->attr->value) : op_reshape(r->map[of->id], &s);
}

/* Joined, not stacked: what is joined is stored. */
static Node *lists_keep(Rebuild *r, const Node *stack) {
    Node **x = graph_alloc(r->to, (size_t)stack->nin * sizeof *x);
    for (int i = 0; i < stack->nin; i++)
        x[i] = piece(r, stack->in[i]);
    return op_concat(r->to, stack->nin, x, 0);
}

Node *uniform_list(UniformLists *u, Rebuild *r, const Node *old) {
    const Node *longest = u->longest[old->id];
    if (!longest) return NULL;
    if (!u->kept[longest->id]) u->kept[longest->id] = lists_keep(r, longest);
    return op_slice(u->kept[longest->id], 0, 0, old->nin);
}
