/* SPDX-License-Identifier: MIT
** The memory plan's values in order, for its table and its picture. */
#ifndef STRATA_MEMORY_VIEW_H
#define STRATA_MEMORY_VIEW_H

#include "plan.h"
#include "report.h"

enum { MEMORY_SPACES = 4 };

typedef struct MemorySpace {
    Space space;
    const char *name, *unit, *what;
} MemorySpace;

/* A value's place: taken from step 'from' up to, not including, step 'to'. */
typedef struct MemoryItem {
    const Buffer *b;
    int space; /* index, not Space */
    int from, to;
} MemoryItem;

const MemorySpace *memory_space(int i);
int64_t memory_size(const Plan *p, int space); /* bytes of its unit */
const Plan *memory_plan(const Report *r);
MemoryItem *memory_items(const Plan *p, int *n); /* by space, then time; in the graph's memory */
/* Bytes taken at every step, to be freed; NULL: no memory. */
int64_t *memory_alive(const Plan *p, const MemoryItem *item, int n, int space);
/* What a value belongs to: "depth mixing", "norm", "route", or the kind of its sublayer. */
const char *memory_kind(const Model *m, const Buffer *b);
void memory_name(const Buffer *b, Text *t); /* "linear [tokens,512] of layers.0.mlp" */

#endif
