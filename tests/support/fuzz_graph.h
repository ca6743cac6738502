/* SPDX-License-Identifier: MIT
** Random graphs, every op of the table among them: for asking whether their
** gradients are right and whether compiled code agrees with the reference.
*/
#ifndef TESTS_FUZZ_GRAPH_H
#define TESTS_FUZZ_GRAPH_H

#include "graph.h"

enum { FUZZ_VOCAB = 7, FUZZ_CONTEXT = 6 }; /* of the ids and positions it expects */

/* About 'ops' draws from the table.  Outputs: "loss", a number made of every
** value, and "leaf.0", "leaf.1", ... the values that nothing else uses.
** Values stay tame for parameters in [-1.5, 1.5].  The same seed gives the
** same graph. */
Graph *fuzz_graph(uint64_t seed, int ops);

#endif
