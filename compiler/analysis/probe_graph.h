/* SPDX-License-Identifier: MIT
** The graph of a standalone program's probe: the model's forward pass, with what it
** reports on the way.  Its inputs are parameters of their own:
**   probe.codes.0        [codes, dim]   directions; weights are measured along them
**   probe.keep.S         [1]            source S is multiplied by it: 0 leaves it out
**   probe.direction.S    [dim]          the direction that it is given; 0: it is not followed
** (A parameter for each source, not one for all: equal layers then share their kernels.)
** Its outputs are sums over tokens, named KIND:INDEX:SITE for those who read the graph, and "nll":
**   source           [1] mean square of the embedding (0) and of each sublayer's output
**   read             [1 + 2 codes]      mean square; weight along each code, its square
**   gate             [2] mean, and mean square, of a sigmoid or tanh in the mixer or a route; SITE:
**                    its Lua line
**   layer            [1]                mean square of the sum of a layer's outputs
**   similarity       [2 layers] its cosine with each layer's, of tokens that both have an output
**                    of; 1 at those
**   route            [3] 1 at tokens that a list of rows has; mean square of the outputs that the
**                    route
**                                       at SITE decides about, at those and at the others ([1]:
**                                       there are none)
**   load             [numbers of a buffer] what a step sums up for its rule: of moe's, 1 at the
**                    experts that a token takes; SITE: the buffer
** Last in each is how many tokens it is over: what has rows for some tokens only is summed over
** those. A read along code c, when source s is given direction c and nothing else is, gives the
** weight with which it takes s, token by token: what depends on data (attention over depth, gates)
** is taken as it is and not differentiated.
*/
#ifndef STRATA_PROBE_GRAPH_H
#define STRATA_PROBE_GRAPH_H

#include "codegen.h"
#include "spec.h"

/* Weights of reads and similarities are left out where there are more of them. */
enum { PROBE_CODES = 8, PROBE_SOURCES = 400, PROBE_LAYERS = 128 };

/* A new graph, to be freed, and in it what its inputs and results are. */
ProbeGraph probe_graph(const Model *m);

#endif
