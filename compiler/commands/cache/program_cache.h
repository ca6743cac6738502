/* SPDX-License-Identifier: MIT
** Programs of specs that were run before.  Each has a folder named after a hash of everything that
** made it: sources, compiler, processor.  Only files that this user put there are run
** (cache_folder.h), and each program is followed by its checksum.
*/
#ifndef STRATA_PROGRAM_CACHE_H
#define STRATA_PROGRAM_CACHE_H

#include "error.h"
#include "spec.h"

typedef struct ProgramCache {
    char *path;         /* of the program */
    char *fresh;        /* where it is built */
    int folder;         /* of both; -1: it is not to be used */
    int lock;           /* -1: not held */
    char *wrong_folder; /* that is not to be used, and what it is; NULL if there is none */
    const char *wrong;
} ProgramCache;

int cache_open(ProgramCache *c, const Model *m, Error *e);
void cache_close(ProgramCache *c);

/* The program, open to be executed; -1: there is none that may be.  *found: what is in its place,
** NULL if nothing is. */
int cache_find(const ProgramCache *c, const char **found);

/* From here to cache_close no other process builds it; was there what one left that was killed? */
bool cache_lock(ProgramCache *c);
/* What was built at 'fresh' takes its place, with a checksum, whatever is there. */
int cache_put(const ProgramCache *c, Error *e);

#endif
