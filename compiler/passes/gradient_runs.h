/* SPDX-License-Identifier: MIT
** Cotangents of long lists.  Depth reads read lists with equal beginnings: a layer's earlier
** sources, and newer ones.  If pieces are added one by one, a model with N reads adds N * N / 2
** cotangents.  If all pieces at the equal beginning of two lists are one run, one addition handles
** them, and there are N.
*/
#ifndef STRATA_GRADIENT_RUNS_H
#define STRATA_GRADIENT_RUNS_H

#include "graph.h"

enum { RUN_PIECES = 16 }; /* shorter ones are added up piece by piece */

/* The first 'length' operands of a stack, and the cotangents that it and later stacks with the same
** beginning have added to them. */
typedef struct GradientRun {
    const Node *stack; /* NULL: none */
    Node *sum;         /* [at least 'length', ...] */
    int length;
} GradientRun;

/* By id of the first operand, the run that begins there; by id of each operand, the id of its run's
** first operand, -1 if it is in no run. */
typedef struct GradientRuns {
    GradientRun *run;
    int *of;
    const bool *leads; /* leads to a trained parameter; other nodes are skipped */
} GradientRuns;

/* Adds a cotangent to that of an operand. */
typedef void AddCotangent(void *user, const Node *operand, Node *dy);

GradientRuns gradient_runs(Graph *g, const bool *leads);
bool gradient_run_long(const Node *n);
/* Takes the cotangent of a long stack: it joins the run with the same beginning, or starts a new
** run.  Pieces outside the run are added to their operands. */
void gradient_run_add(GradientRuns *r, const Node *stack, Node *dy, AddCotangent *add, void *user);
/* Adds to n's cotangent what runs hold of it; call this before the cotangent is used. */
void gradient_run_due(GradientRuns *r, const Node *n, AddCotangent *add, void *user);

#endif
