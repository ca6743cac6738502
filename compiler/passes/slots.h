/* SPDX-License-Identifier: MIT
** When each node runs: the order that recompute.c and schedule.c use.
*/
#ifndef STRATA_SLOTS_H
#define STRATA_SLOTS_H

#include "plan.h"

/*
** Times are counted over the whole program.  Anchors run at odd times, one
** after another in a token phase, all of a global phase at one time; the even
** times between are slots for row nodes.
*/
typedef struct Slots {
    bool *needed;
    bool *twin;        /* repeats the forward part for the backward part */
    bool *stored;      /* what anchors read */
    const Node **list; /* what makes a list of rows, by its number */
    Domain *domain;
    int *phase;   /* even: token phase; odd: global phase */
    int *time;    /* of anchors and uniform nodes: odd; of row nodes: even */
    int *start;   /* of anchors: when the first of their phase, and their list, runs */
    int *partial; /* of a token_sum: the slot of its per-granule sums */
    int times;    /* all times are below it */
} Slots;

/* With 'forward', nodes of the gradient pass are left out; 'alike' may be NULL. */
Slots *slots_find(Graph *g, bool forward, const Alike *alike);

#endif
