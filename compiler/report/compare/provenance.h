/* SPDX-License-Identifier: MIT
** Where a comparison's numbers come from: when, on what, from which files.
*/
#ifndef STRATA_PROVENANCE_H
#define STRATA_PROVENANCE_H

#include "json.h"

/* A text that was trained or evaluated on, or that a variant was made of. */
typedef struct SourceFile {
    char *name;
    double bytes;
    char sha256[65]; /* of data, which may be several files; else "" */
    char *text;      /* of specs, mixers and what they read; NULL: of data */
} SourceFile;

typedef struct Provenance {
    char date[32]; /* UTC, as 2026-01-31T12:00:00Z */
    char processor[128];
    int processors;                 /* that the process may use */
    double load_before, load_after; /* average over a minute; NAN: not known */
    SourceFile data, val;           /* name NULL: none */
    SourceFile *file;               /* each once, the specs first */
    int files;
} Provenance;

void provenance_free(Provenance *p);
/* An object. */
void provenance_json(const Provenance *p, Text *t);

#endif
