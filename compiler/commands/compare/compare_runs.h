/* SPDX-License-Identifier: MIT
** Training runs of a comparison, and where they are stored.
**   compare_train.c   which runs there are, and their results
**   compare_run.c     one of them: recognised, continued or started
**   compare_log.c     what it did
**   compare_watch.c   what is reported while it runs
*/
#ifndef STRATA_COMPARE_RUNS_H
#define STRATA_COMPARE_RUNS_H

#include "workshop.h"

/* What trains the variants. */
typedef struct Trainer {
    const Workshop *w;
    Comparison *c;
    const TrainAsked *asked;
    char data[65], val[65], init[65]; /* what they are, in hexadecimal; "": not given */
    char model[COMPARE_MOST][65];     /* the variants' (model_identity.h) */
    int64_t runs, done;               /* that there are; that are finished */
    int64_t steps;                    /* made since 'start', of finished runs */
    double start;
} Trainer;

/* One training run. */
typedef struct RunPlan {
    int variant;
    uint64_t seed;
    double lr;                /* NAN: the spec's */
    char base[WORKSHOP_PATH]; /* of its files: BASE.jsonl, BASE.safetensors */
} RunPlan;

RunPlan run_plan(const Trainer *t, int variant, uint64_t seed, double lr);
void run_path(const RunPlan *p, const char *suffix, char path[WORKSHOP_PATH]);
/* Is it there and done?  Then it is read into r, which has room. */
bool run_is_kept(const Trainer *t, const RunPlan *p, TrainRun *r);
/* Makes the run, or the rest of it, unless it is kept. */
int run_make(Trainer *t, const RunPlan *p, TrainRun *r, Error *e);

/* == compare_log.c ======================================================== */

int run_room(const Comparison *c, TrainRun *r, Error *e);
int run_log_read(const Comparison *c, TrainRun *r, const char *path, Error *e);
/* Is it that of a whole run? */
bool run_log_ends(const Comparison *c, const TrainRun *r);
/* The last step that a log tells; false: none. */
bool run_log_last(const char *path, int64_t *step, double *loss);

/* == compare_watch.c ====================================================== */

typedef struct RunWatch {
    const Trainer *trainer;
    const RunPlan *plan;
    double told;    /* when the last line was */
    int64_t first;  /* the step that it goes on after */
    int64_t before; /* the last one in the log of the run that was interrupted; -1: none */
} RunWatch;

double watch_now(void); /* seconds */
/* A run begins, after 'first' steps; then what to do now and then. */
void watch_begin(RunWatch *x, const Trainer *t, const RunPlan *p, int64_t first);
void watch_tell(void *watch);

#endif
