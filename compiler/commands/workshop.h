/* SPDX-License-Identifier: MIT
** A folder for the programs of a comparison and what they write, gone with all that
** is in it whatever happens: while it is open, signals that stop are held back as in
** process.h, end the program that runs, and come to the caller as an error.
*/
#ifndef STRATA_WORKSHOP_H
#define STRATA_WORKSHOP_H

#include "allowance.h"
#include "comparison.h"

#include <signal.h>

typedef struct Workshop {
    char folder[256];
    sigset_t before;
    Allowance *allowance;
    bool tells; /* what is being done, on standard error: it is a terminal */
} Workshop;

int workshop_open(Workshop *w, Allowance *a, Error *e);
void workshop_close(Workshop *w);

/* FOLDER/model-VARIANT.SUFFIX; SUFFIX "" is the program. */
enum { WORKSHOP_PATH = 384 };
void workshop_path(const Workshop *w, int variant, const char *suffix, char path[WORKSHOP_PATH]);
void workshop_tell(const Workshop *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Compiles a variant's program and notes what that took. */
int workshop_build(const Workshop *w, Comparison *c, int variant, const char *cpu, Error *e);

/* The same code as assembly text, for a page. */
int workshop_assembly(const Workshop *w, Comparison *c, int variant, const char *cpu, Error *e);
/* Runs a variant's program with what strata was started with; its output is added to t. */
int workshop_run(const Workshop *w, const Comparison *c, int variant, char *const *argv, Text *t,
                 Error *e);
/* A file that programs of ours wrote, whole, added to t. */
int workshop_read(const char *path, Text *t, Error *e);

/* compare_measure.c: 'bench --train' of all variants in turns, c->rounds times */
int workshop_measure(const Workshop *w, Comparison *c, Error *e);

/* compare_train.c: every variant from every seed, c->steps steps; val NULL: evaluates on the
** last tenth of the text */
int workshop_train(const Workshop *w, Comparison *c, const DataWords *data, const DataWords *val,
                   Error *e);

#endif
