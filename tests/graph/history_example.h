/* SPDX-License-Identifier: MIT
** Examples of operations over time whose past is of a fixed size, as op_example asks for them. */
#ifndef TESTS_HISTORY_EXAMPLE_H
#define TESTS_HISTORY_EXAMPLE_H

#include "graph.h"

Node *history_example(Graph *g, Op op, int variant);

#endif
