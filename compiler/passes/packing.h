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

/* Sets the offsets and returns the number of floats that all items need.  Items are placed in order
** of size, the largest first (of equals the one that lives first), each at the lowest offset that
** is free while it lives; without 'reuse' all items live all the time.  The items stay in that
** order. */
int64_t pack_items(PackItem *item, int n, bool reuse);

#endif
