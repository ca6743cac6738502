/* SPDX-License-Identifier: MIT
** What the shape rules, the reference and the gradient of attention share. */
#ifndef STRATA_SEQUENCE_H
#define STRATA_SEQUENCE_H

#include "op.h"

/* d: of q and k, e: of v, whose rows have 'row' numbers of a head; distances: of a table by them,
** 0: there is none; one_table: all tokens have the same. */
typedef struct Heads {
    int64_t H, G, d, e, row, distances;
    bool one_table;
} Heads;

/* Operands before the table by distances, which may follow. */
enum { OPERANDS = 3, GRAD_OPERANDS = 6 };

static inline int operands_of(const Node *n) {
    return n->op == OP_attention ? OPERANDS : GRAD_OPERANDS;
}

/* The table by distances; NULL: there is none. */
static inline const Node *distances_of(const Node *n) {
    return n->nin > operands_of(n) ? n->in[operands_of(n)] : NULL;
}

static inline Heads heads_of(const Node *n) {
    const Shape *q = &n->in[0]->shape, *v = &n->in[2]->shape;
    const Node *table = distances_of(n);
    return (Heads){ q->dim[0],
                    v->dim[0],
                    q->dim[1],
                    n->attr->values ? n->attr->values : v->dim[1],
                    v->dim[1],
                    table ? table->shape.dim[1] : 0,
                    table && table->shape.lead == LEAD_NONE };
}

#endif
