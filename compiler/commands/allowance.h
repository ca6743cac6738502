/* SPDX-License-Identifier: MIT
** Limits on compiling: it runs in child processes with a limit on memory and processor time.  The
** parent waits, reports in one line what ended a child, and removes the folders that the child
** left.
*/
#ifndef STRATA_ALLOWANCE_H
#define STRATA_ALLOWANCE_H

#include "doing.h"
#include "spec.h"
#include "step.h"
#include "strata_options.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

enum { FOLDERS_AT_ONCE = 4 };

/* Memory that the processes share. */
typedef struct SharedNotes {
    char spec[1024]; /* that is being compiled */
    StepNote step;
    DoingNote doing;
    char folder[FOLDERS_AT_ONCE][PATH_MAX]; /* of temporary files; "": none */
    char program[PATH_MAX];                 /* that strata run is to start */
    char stopped[128]; /* what a signal that stops it leaves, for its user; "" */
} SharedNotes;

typedef struct Allowance {
    int64_t memory, seconds;                              /* --max-memory, --max-seconds */
    struct rlimit memory_before, data_before, cpu_before; /* of who started strata */
    SpecChoices chosen;                                   /* -D */
    double start; /* this process's seconds when the spec began */
    SharedNotes *notes;
    bool inner;    /* in a process that allowance_run started: who started it cleans up */
    FILE *console; /* standard error of strata: that of its children goes to who waits for them */
} Allowance;

typedef int AllowedWork(void *work, Error *e);

/* As the command line has it. */
int allowance_open(Allowance *a, const Options *o, Error *e);
void allowance_close(Allowance *a);

/* Runs 'work' in a process of its own, with 'mask' as its signal mask: its status and error, or
** what ended it.  Signals that stop are held back by the caller (process_hold). */
int allowance_run(Allowance *a, AllowedWork *work, void *argument, const sigset_t *mask, Error *e);

/* In such a process: a spec begins, with all that is allowed. */
void allowance_spec(Allowance *a, const char *spec);
/* What it has taken so far, in seconds; and going on with one that has taken so much. */
double allowance_used(const Allowance *a);
void allowance_go_on(Allowance *a, const char *spec, double used);
/* What reading it may use, and where steps are noted. */
SpecLimits allowance_limits(const Allowance *a);
StepNote *allowance_step(const Allowance *a);

/* Around programs that are not ours to limit: they start with what strata started with. */
void allowance_lift(const Allowance *a);
void allowance_lower(const Allowance *a);

/* A folder that is gone when the process ends, however it ends. */
void allowance_keep(Allowance *a, const char *folder);
void allowance_drop(Allowance *a, const char *folder);
/* One that stays. */
void allowance_forget(Allowance *a, const char *folder);

/* Usage: -D without a spec. */
static inline int allowance_unchosen(const Allowance *a, Error *e) {
    if (!a->chosen.n) return STATUS_OK;
    return error_set(e, STATUS_USAGE, "-D %s: expected a spec that declares it, found no spec",
                     a->chosen.word[0]);
}

#endif
