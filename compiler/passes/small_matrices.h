/* SPDX-License-Identifier: MIT
** Which weights of a build with --weights q8 or q4 are small (small_matrices.c). */
#ifndef STRATA_SMALL_MATRICES_H
#define STRATA_SMALL_MATRICES_H

#include "graph.h"

typedef enum Small { SMALL_NONE, SMALL_Q8, SMALL_Q4 } Small;

/* By number of g's parameters: their bits, 8 or 4; 0: they stay float32.  To be freed.  'probe' may
** be NULL. */
int *small_bits(const Graph *g, const Graph *probe, Small small);

/* Marks the parameters in the graph of a program. */
Graph *pass_small(Graph *g, const Graph *model, const int *bits);

#endif
