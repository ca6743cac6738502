/* SPDX-License-Identifier: MIT
** Examples of every row of ops.def on shapes of every kind, for questions that all of them are
** asked.  Everything asserts.
*/
#ifndef TESTS_OP_EXAMPLE_H
#define TESTS_OP_EXAMPLE_H

#include "graph.h"

enum { VOCAB = 5 };

/* A value made by the op from parameters; NULL after the last variant. */
Node *op_example(Graph *g, Op op, int variant);

/* The same of choices among a token's own numbers, and of experts: op_example_choice.c. */
Node *op_example_choice(Graph *g, Op op, int variant);

/* A value of any shape with a parameter behind every element. */
Node *example_operand(Graph *g, Shape s);
/* The list of the tokens with a property that ids decide; by variant some, none or all. */
Node *example_list(Graph *g, int variant);
/* node_new that fails the test where operands do not fit. */
Node *example_build(Graph *g, Op op, int nin, Node **in, Attr attr);

#endif
