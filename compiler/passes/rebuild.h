/* SPDX-License-Identifier: MIT
** Copies a graph node by node: the way in which a pass rewrites an append-only graph.
*/
#ifndef STRATA_REBUILD_H
#define STRATA_REBUILD_H

#include "graph.h"

typedef struct Rebuild {
    const Graph *from;
    Graph *to;
    Node **map; /* by old id: the new node; NULL: not copied yet */
    void *user;
} Rebuild;

/* Returns the node that replaces 'old', whose mapped operands are 'in'; NULL for a plain copy. */
typedef Node *(*RebuildRule)(Rebuild *r, const Node *old, Node **in);

/* The new graph has the old one's outputs; frees the old graph. */
Graph *rebuild(Graph *g, RebuildRule rule, void *user);
/* The same for who has asked graph_needed() before. */
Graph *rebuild_needed(Graph *g, const bool *needed, RebuildRule rule, void *user);
/* For rules: copies a node before its turn; its operands have been copied. */
void rebuild_ahead(Rebuild *r, const Node *old);
Node *rebuild_copy(Rebuild *r, const Node *old, Node **in);
Node *rebuild_as(Rebuild *r, const Node *old, Node **in, Attr attr); /* with other attributes */

#endif
