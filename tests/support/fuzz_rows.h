/* SPDX-License-Identifier: MIT
** Random models of rows: what fuzz_graph.h is for gradients this is for
** compiled code, with axes from one element to a hundred, lists of sources,
** products and attention in between, sums over tokens that come back.
*/
#ifndef TESTS_FUZZ_ROWS_H
#define TESTS_FUZZ_ROWS_H

#include "graph.h"

/* 'ops' draws; with fewer, the same seed makes the same first ones.  Outputs as
** of probe_end. */
Graph *fuzz_rows(uint64_t seed, int ops);

/* A graph of fuzz_graph as a model: its leaves go to a head, its loss is a term
** of the loss.  Vocabulary and context as there. */
Graph *fuzz_model(uint64_t seed, int ops);

#endif
