/* SPDX-License-Identifier: MIT
** A model's probe table by the kinds of its entries.
*/
#ifndef STRATA_PROBE_ENTRIES_H
#define STRATA_PROBE_ENTRIES_H

#include "error.h"
#include "probe_table.h"

typedef struct ProbeEntries {
    const strata_model *m;
    struct {
        int count;
        const ProbeEntry **at; /* by index; NULL where there is none */
    } kind[PROBE_KINDS];
    int64_t floats; /* of all results */
} ProbeEntries;

bool entries_open(ProbeEntries *x, const strata_model *m); /* false: no memory */
void entries_close(ProbeEntries *x);

/* NULL: there is none. */
const ProbeEntry *entry_of(const ProbeEntries *x, ProbeKind kind, int64_t index);
/* Where a kind's entries are, "" for those missing, and the last parts of that; NULL: no memory */
const char **entry_sites(const ProbeEntries *x, ProbeKind kind);
const char **entry_lasts(const ProbeEntries *x, ProbeKind kind);

#endif
