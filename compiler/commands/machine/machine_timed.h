/* SPDX-License-Identifier: MIT
** A small model that is built and timed on this machine, as 'strata doctor --measure' does.
*/
#ifndef STRATA_MACHINE_TIMED_H
#define STRATA_MACHINE_TIMED_H

#include "allowance.h"
#include "build.h"
#include "json.h"
#include "report.h"
#include "text.h"

typedef struct TimedModel {
    const char *folder; /* for the spec and the program, which are gone afterwards */
    Text *spec;         /* its text, which is freed */
    Multiply multiply;
    int steps, rounds; /* of 'bench --train', one run a round */
    Report **report;   /* of the model, which is the caller's to free; NULL: none */
} TimedModel;

/* Takes what a round's 'bench --json' told. */
typedef int TimedTold(const Json *j, void *to, Error *e);

/* The limits of the command hold while the model is built, not while it is timed. */
int machine_timed(Allowance *a, const TimedModel *m, TimedTold *told, void *to, Error *e);

#endif
