/* SPDX-License-Identifier: MIT
** Maps texts to numbers: names of parameters and kernels, identities of row kernels.
*/
#ifndef STRATA_NAME_TABLE_H
#define STRATA_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct NameEntry {
    uint64_t hash;
    const char *text; /* the caller's, as long as the table lives; NULL: free */
    int value;
} NameEntry;

typedef struct NameTable {
    NameEntry *entry; /* open addressing, at most half full */
    size_t cap, n;
} NameTable;

void name_table_add(NameTable *t, const char *text, int value); /* text that it has not yet */
int name_table_find(const NameTable *t, const char *text);      /* -1: it has not */
void name_table_free(NameTable *t);

#endif
