/* SPDX-License-Identifier: MIT
** Shared by the files that draw the picture of a graph.
*/
#ifndef STRATA_GRAPH_DRAWING_H
#define STRATA_GRAPH_DRAWING_H

#include "rows.h"
#include "views.h"

typedef struct Spread {
    int least, most;
} Spread;

typedef struct Range {
    double least, most;
} Range;

/* A kernel call, or those at the same place of several layers. */
typedef struct Box {
    int step;                          /* of the last layer */
    Spread operations, reads, earlier; /* earlier: rows from before its layer */
    Range flops, bytes;                /* per token */
} Box;

typedef struct LayerRun {
    int first, last; /* layers; -1: what is around them */
    int from, steps; /* of the last layer */
    Box *box;
} LayerRun;

typedef struct Drawing {
    const Report *r;
    const Plan *p;
    RowsShared shared;
    LayerRun *group;
    int ngroup;
    Text *t;
} Drawing;

/* Calls f for every value that a step reads from memory. */
void graph_for_reads(const Drawing *d, int step, void (*f)(void *user, const Node *n), void *user);
/* graph_places.c: a line that tells where the values come from that box i has from before its
** layer; nothing if it has none. */
void graph_draw_places(const Drawing *d, const LayerRun *g, int i, double x, double y);

#endif
