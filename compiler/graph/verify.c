/* SPDX-License-Identifier: MIT
** Checks what holds for every graph between passes: operands come before their users, every row's
** shape rule gives the shape of its node, and parameters and outputs name nodes of this graph.  A
** violation is a bug of the compiler.
*/
#include "op.h"

#include <string.h>

static void verify_shape(const Node *n) {
    Node again = *n;
    Shape side[MAXRESULT] = { { 0 } };
    const OpInfo *row = &op_info[n->op];
    memset(&again.shape, 0, sizeof again.shape);
    again.side = side;
    const char *error = node_shape(&again);
    if (error) bug(n, "%s", error);
    if (!shape_equal(&n->shape, &again.shape))
        bug(n, "has a stale shape %s, not %s", shape_text(n->g, &n->shape),
            shape_text(n->g, &again.shape));
    for (int r = 1; r < row->results; r++)
        if (!shape_equal(&n->side[r], &again.side[r])) bug(n, "result %d has a stale shape", r);
}

static void verify_node(const Graph *g, const Node *n, int id) {
    if (n->g != g || n->id != id) bug(n, "is not node %d of this graph", id);
    if ((unsigned)n->op >= NOP) bug(NULL, "%%%d is of no op", id);
    int arity = op_info[n->op].arity;
    if (arity >= 0 ? n->nin != arity : n->nin < 1) bug(n, "has %d operands", n->nin);
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]->id >= id || g->node[n->in[k]->id] != n->in[k])
            bug(n, "operand %d does not come before it", k);
    verify_shape(n);
}

static void verify_params(const Graph *g) {
    int found = 0, last = -1;
    for (int i = 0; i < g->n; i++)
        found += g->node[i]->op == OP_param;
    if (found != g->nparam) bug(NULL, "%d parameters in the list, %d nodes", g->nparam, found);
    for (int i = 0; i < g->nparam; i++) {
        const Node *n = g->param[i].node;
        if (n->op != OP_param || g->node[n->id] != n) bug(n, "is not a parameter's node");
        if (n->id <= last) bug(n, "the parameters are not in order");
        last = n->id;
    }
}

void graph_verify(const Graph *g) {
    for (int i = 0; i < g->n; i++)
        verify_node(g, g->node[i], i);
    verify_params(g);
    for (int i = 0; i < g->nout; i++) {
        const Node *n = g->out[i].node;
        if (!n || n->g != g || n->id >= g->n || g->node[n->id] != n)
            bug(NULL, "output '%s' is not a node of this graph", g->out[i].name);
    }
}
