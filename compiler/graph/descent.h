/* SPDX-License-Identifier: MIT
** Visits a node and everything that it is made of, operands first.  The order is that of a
** recursion, but it uses a list instead of the stack, because a spec's graph may be deeper than
** any stack.
*/
#ifndef STRATA_DESCENT_H
#define STRATA_DESCENT_H

#include "graph.h"

/* A list of nodes to come back to, in memory of a graph's arena. */
typedef struct NodeList {
    const Node **node;
    int n, cap;
} NodeList;

void node_list_push(Graph *mem, NodeList *l, const Node *n);

/* How many of a node's operands the walk goes to before it; -1: it leaves the node out.  Asked
** every time the walk comes to a node, until that is done. */
typedef int DescentOperands(void *user, const Node *n);

typedef struct Descent {
    Graph *mem;
    DescentOperands *operands;
    void *user;
    NodeList path;
    int *next; /* by place in the path: the operand to go to */
    int *last; /* and how many there are */
    int cap;
} Descent;

void descent_begin(Descent *d, const Node *n);
/* The next node whose operands are done; NULL: that was the last.  The caller does it, so that
** 'operands' leaves it out from then on. */
const Node *descent_next(Descent *d);

#endif
