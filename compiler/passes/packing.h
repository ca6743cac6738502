/* SPDX-License-Identifier: MIT
** Assigns offsets to values of one memory area, so that values that live at the same time do not
** overlap.
*/
#ifndef STRATA_PACKING_H
#define STRATA_PACKING_H

#include "plan.h"

/* A value to place: its floats, and the first and the last time at which it lives. */
typedef struct PackItem {
    Buffer *b;
    int from, to;
    int64_t size;
} PackItem;

/* Sets the buffers' offsets; returns the floats that all need.  The largest comes first (of equals
** the one that lives first), and each goes to the lowest offset that no value placed before takes
** while it lives; without 'reuse' all live all the time.  Leaves the items in that order. */
int64_t pack_items(PackItem *item, int n, bool reuse);

#endif
