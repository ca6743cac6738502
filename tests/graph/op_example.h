/*
** Examples of every row of ops.def on shapes of every kind, for questions that all of them are
** asked.  Everything asserts.
*/
#ifndef TESTS_OP_EXAMPLE_H
#define TESTS_OP_EXAMPLE_H

#include "graph.h"

enum { VOCAB = 5 };

/* A value made by the op from parameters; NULL after the last variant. */
Node *op_example(Graph *g, Op op, int variant);

/* A value of any shape with a parameter behind every element. */
Node *example_operand(Graph *g, Shape s);

#endif
