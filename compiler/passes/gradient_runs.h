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

/* The first 'length' operands of a stack, and what has flowed into them from it and from later
** stacks that begin with them. */
typedef struct GradientRun {
    const Node *stack; /* NULL: none */
    Node *sum;         /* [at least 'length', ...] */
    int length;
} GradientRun;

/* By id of the first operand: the run that begins there; and of each operand of a run, the first
** one's id, -1: it is in none. */
typedef struct GradientRuns {
    GradientRun *run;
    int *of;
    const bool *leads; /* to a parameter that is trained; what doesn't is passed over */
} GradientRuns;

/* Adds a cotangent to that of an operand. */
typedef void AddCotangent(void *user, const Node *operand, Node *dy);

GradientRuns gradient_runs(Graph *g, const bool *leads);
bool gradient_run_long(const Node *n);
/* The cotangent of a long stack: it joins the run that begins as it does, or is a new one.  What
** is not part of the run goes to its operands. */
void gradient_run_add(GradientRuns *r, const Node *stack, Node *dy, AddCotangent *add, void *user);
/* Before n's cotangent is used: what runs hold of it is added. */
void gradient_run_due(GradientRuns *r, const Node *n, AddCotangent *add, void *user);

#endif
