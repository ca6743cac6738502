/* SPDX-License-Identifier: MIT
** See descent.h. */
#include "descent.h"

#include <string.h>

/* A larger copy of an array of 'n' elements of the arena. */
static void *grown(Graph *mem, const void *old, int n, int cap, size_t size) {
    void *array = graph_alloc(mem, (size_t)cap * size);
    if (n) memcpy(array, old, (size_t)n * size);
    return array;
}

void node_list_push(Graph *mem, NodeList *l, const Node *n) {
    l->node = graph_grown(mem, l->node, l->n, &l->cap, sizeof *l->node);
    l->node[l->n++] = n;
}

void descent_begin(Descent *d, const Node *n) {
    int i = d->path.n, operands = d->operands(d->user, n);
    if (operands < 0) return;
    node_list_push(d->mem, &d->path, n);
    if (d->cap < d->path.cap) {
        d->cap = d->path.cap;
        d->next = grown(d->mem, d->next, i, d->cap, sizeof *d->next);
        d->last = grown(d->mem, d->last, i, d->cap, sizeof *d->last);
    }
    d->next[i] = 0;
    d->last[i] = operands;
}

const Node *descent_next(Descent *d) {
    while (d->path.n) {
        int i = d->path.n - 1;
        const Node *n = d->path.node[i];
        if (d->next[i] == d->last[i]) {
            d->path.n--;
            return n;
        }
        descent_begin(d, n->in[d->next[i]++]);
    }
    return NULL;
}
