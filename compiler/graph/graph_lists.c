/* SPDX-License-Identifier: MIT
** A graph's lists of tokens, by number. */
#include "op.h"
#include "pool.h"

#include <string.h>

const Node *graph_list(const Graph *g, int list) {
    return list > 0 && list <= g->lists ? g->list[list] : NULL;
}

void graph_add_list(Graph *g, Node *rows) {
    int64_t list = rows->attr->count;
    if (!g->list) g->list = graph_alloc(g, (MAXLISTS + 1) * sizeof *g->list);
    if (list > g->lists) g->lists = (int)list;
    if (!g->list[list]) g->list[list] = rows;
}

void graph_number_lists(Graph *g) {
    int32_t to[MAXLISTS + 1] = { 0 }, lists = 0;
    g->lists = 0;
    if (g->list) memset(g->list, 0, (MAXLISTS + 1) * sizeof *g->list);
    for (int i = 0; i < g->n; i++) {
        Node *n = g->node[i];
        Attr attr = *n->attr;
        if (attr.shape.list) {
            attr.shape.list = to[attr.shape.list];
            n->attr = pool_attr(g->pool, n->op, &attr);
        }
        if (n->op == OP_rows) {
            attr.count = to[attr.count] = ++lists;
            n->attr = pool_attr(g->pool, n->op, &attr);
            graph_add_list(g, n);
        }
        n->shape.list = to[n->shape.list];
        for (int r = 1; r < op_info[n->op].results; r++)
            n->side[r].list = to[n->side[r].list];
    }
}
