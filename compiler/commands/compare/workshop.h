/* SPDX-License-Identifier: MIT
** A temporary folder for the programs of a comparison and their files, which is always removed.
** While it is open, signals that stop are handled as in process.h: they end the running program
** and reach the caller as an error.
*/
#ifndef STRATA_WORKSHOP_H
#define STRATA_WORKSHOP_H

#include "allowance.h"
#include "comparison.h"
#include "process.h"
#include "work_folder.h"

#include <signal.h>

typedef struct Workshop {
    WorkFolder folder;
    sigset_t before;
    Allowance *allowance;
} Workshop;

int workshop_open(Workshop *w, Allowance *a, Error *e);
void workshop_close(Workshop *w);

/* FOLDER/model-VARIANT.SUFFIX; SUFFIX "" is the program. Names in folders have their room. */
enum { WORKSHOP_NAME = 128, WORKSHOP_PATH = PATH_MAX + WORKSHOP_NAME };
void workshop_path(const Workshop *w, int variant, const char *suffix, char path[WORKSHOP_PATH]);

/* Compiles a variant's program and notes what that took. */
int workshop_build(const Workshop *w, Comparison *c, int variant, const char *cpu, Error *e);

/* The same code as assembly text, for a page. */
int workshop_assembly(const Workshop *w, Comparison *c, int variant, const char *cpu, Error *e);
/* Runs a variant's program with what strata was started with; its output is added to t. */
int workshop_run(const Workshop *w, const Comparison *c, int variant, char *const *argv,
                 const ProcessTick *tick, Text *t, Error *e);
/* A file that programs of ours wrote, whole, added to t. */
int workshop_read(const char *path, Text *t, Error *e);

/* compare_measure.c: 'bench --train' of all variants in turns, c->rounds times */
int workshop_measure(const Workshop *w, Comparison *c, Error *e);

/* What is trained on and evaluated on; without words of val, on the last tenth of the text. */
typedef struct TrainAsked {
    const DataWords *data, *val;
    const char *keep; /* a folder for finished runs, which are not made again; NULL: none */
    const char *cpu;  /* as the programs were compiled for it; NULL: this one */
} TrainAsked;
#define TRAIN_VAL_SHARE 0.1

/* compare_train.c: every variant from every seed, c->steps steps */
int workshop_train(const Workshop *w, Comparison *c, const TrainAsked *asked, Error *e);

#endif
