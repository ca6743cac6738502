/* SPDX-License-Identifier: MIT
** Arrays that grow: the tables in the making. */
#ifndef STRATA_LIST_H
#define STRATA_LIST_H

#include <stddef.h>

typedef struct List {
    void *data;
    int n, cap;
} List;

void *list_add(List *l, size_t size); /* a zeroed element; NULL never: exits 3 */
#define LIST(l, type, i) (((type *)(l).data)[i])

#endif
