/* SPDX-License-Identifier: MIT
** The graph of a standalone program's probe: the model's forward pass, and what it reports.  The
** inputs are parameters of the probe:
**   probe.codes.0        [codes, dim]   directions; weights are measured along them
**   probe.keep.S         [1]            a factor of source S; 0 leaves the source out
**   probe.direction.S    [dim]          the direction of source S; 0 means that it is not followed
** (Each source has a parameter of its own, so that equal layers share their kernels.) The outputs
** are sums over tokens, named KIND:INDEX:SITE for readers of the graph, and "nll":
**   source           [1]            mean square of the embedding (0) and of each sublayer's output
**   read             [1 + 2 codes]  mean square; weight along each code, and its square
**   gate             [2]            mean, and mean square, of a sigmoid or tanh in the mixer or a
**                                   route; SITE is its Lua line
**   layer            [1]            mean square of the sum of a layer's outputs
**   similarity       [2 layers]     its cosine with each layer, over tokens that have an output of
**                                   both; 1 at these tokens
**   route            [3]            1 at a list's tokens; mean square of the outputs that the route
**                                   at SITE decides about, at these tokens and at the others ([1]
**                                   if there are none)
**   load             [buffer]       what a step sums for the rule of the buffer at SITE: for moe, 1
**                                   at the experts that a token takes
** The last number of each is the number of tokens: values with rows for some tokens only are
** summed over these.  A read along code c, when source s has direction c and no other source has
** one, is the weight with which the read takes s, token by token.  What depends on data (attention
** over depth, gates) is held constant and not differentiated.
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
