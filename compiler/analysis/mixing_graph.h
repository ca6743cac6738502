/* SPDX-License-Identifier: MIT
** The graph of a model's depth reads alone, and of the weights with which they take their sources.
** mixing.h defines both.
*/
#ifndef STRATA_MIXING_GRAPH_H
#define STRATA_MIXING_GRAPH_H

#include "json.h"
#include "spec.h"

/* What a node is to the sources. */
enum { NODE_CONSTANT, NODE_WEIGHT, NODE_VALUE };

/* Attention and recurrences are linear in their values, operand 2; the other operands decide the
** weights. */
static inline bool mixes_values(const Node *n) {
    return n->op == OP_attention || n->op == OP_recurrence;
}

typedef struct MixingGraph {
    Graph *g;
    const Model *m;
    Node *direction; /* d, [tokens, dim] */
    int *kind;       /* NODE_..., by id in the model's graph */
    Node **twin;     /* by the same: the node here; NULL: no read needs it */
    int *origin;     /* of parameters, by id here: id in the model's graph; -1: not of the model */
    int *source;     /* of the others: whose rows they are; m->nsource: the direction's */
    int origins;     /* ids that are described in 'origin' and 'source' */
} MixingGraph;

/* The reads as functions of sources: row 'id' of the parameter "source S" [samples, dim], by token
** id. */
MixingGraph *mixing_graph_new(const Model *m, int samples);
void mixing_graph_free(MixingGraph *x);
/* Adds J_rs^T d for every source s, d the parameter "direction" [samples, dim], as the output "S of
** R". */
void mixing_graph_read(MixingGraph *x, int read);
/* That output; NULL: the read does not take the source. */
Node *mixing_graph_weight(const MixingGraph *x, int read, int source);

/* mixing_symbol.c: adds that weight to t as a formula of parameters; returns false and adds nothing
** if there is none or it is too long.  For models whose weights do not depend on data. */
bool mixing_symbol(const MixingGraph *x, int read, int source, Text *t);

#endif
