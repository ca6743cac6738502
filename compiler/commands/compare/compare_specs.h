/* SPDX-License-Identifier: MIT
** The specs on the command line of strata compare, each with its own values of options.
*/
#ifndef STRATA_COMPARE_SPECS_H
#define STRATA_COMPARE_SPECS_H

#include "build.h"
#include "command.h"
#include "comparison.h"

/* "m.lua:width=64,mixer=haares": the path, and words as of -D. */
typedef struct SpecWord {
    char *path; /* the others lie behind it in the same memory */
    const char *choice[OPTION_PAIRS];
    int choices;
} SpecWord;

/* A variant is a spec built in one of the ways: "auto", "generated", "openblas"; NULL: as ever. */
typedef struct SpecWords {
    SpecWord *spec;
    int n;
    const char *way[MULTIPLIERS];
    int ways;
} SpecWords;

/* Both end with spec_words_free. */
int spec_words_read(SpecWords *s, const Options *o, Error *e);
void spec_words_free(SpecWords *s);

/* Reads and plans all of them as variants. -D is of those that declare it: at least one must. */
int spec_words_plan(const SpecWords *s, const ReportOptions *r, Comparison *c, Allowance *a,
                    Error *e);

#endif
