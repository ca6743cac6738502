/* SPDX-License-Identifier: MIT
** What examples of ops are made of. */
#ifndef TESTS_OP_EXAMPLE_PARTS_H
#define TESTS_OP_EXAMPLE_PARTS_H

#include "op_example.h"

#define SHAPE_OF(lead_, rank_, ...) \
    ((Shape){ .lead = lead_, .rank = rank_, .dim = { __VA_ARGS__ } })
#define U(rank, ...) SHAPE_OF(LEAD_NONE, rank, __VA_ARGS__)
#define T(rank, ...) SHAPE_OF(LEAD_TOKENS, rank, __VA_ARGS__)
#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

Node *example_build(Graph *g, Op op, int nin, Node **in, Attr attr);
Node *example_build_of(Graph *g, Op op, int nin, const Shape *s, Attr attr); /* of operands */
Node *example_list(Graph *g, int which);

Node *example_attention(Graph *g, int variant);
Node *example_attention_grad(Graph *g, int variant);

#endif
