/* SPDX-License-Identifier: MIT
** One run of training: everything that the command train holds while it runs.
**   train_setup.c    opens it: options, text, weights or checkpoint
**   train.c          the loop
**   train_start.c    what it says before
**   train_memory.c   --dry-run
*/
#ifndef STRATA_TRAIN_H
#define STRATA_TRAIN_H

#include "checkpoint.h"
#include "data_order.h"
#include "event_file.h"
#include "standalone.h"
#include "progress.h"
#include "schedule.h"
#include "train_log.h"
#include "weights.h"

typedef struct Run {
    const Program *p;
    Session s;
    Tokenizer tokenizer;
    Data text;      /* of --data */
    Data data, val; /* what is trained and evaluated on: parts of it, or of --val */
    bool evaluates;
    double *val_loss; /* of each source of val */
    DataOrder order;
    Checkpoint state; /* step, seeds, best …: what a checkpoint will say */
    int64_t save_every;
    char *out;
    int32_t *tokens, *targets; /* [batch, context] */
    double *routed;            /* shares of tokens that routes took: of a step, then of one call */
    double *load;              /* of buffers' statistics: how uneven they are */
    double *epochs;            /* of each source of data */
    bool resumed;
    WeightsTaken init; /* --init: what became of it */
    TrainLog log;
    EventFile events; /* --tensorboard */
    Progress progress;
} Run;

/* Everything up to the first step; says on standard output what it is going to do. */
int run_open(Run *r, Error *e);
void run_close(Run *r);

/* The settings: as given, else as in 'saved' (NULL: none), else the spec's. */
void run_settings(const Program *p, const Checkpoint *saved, Checkpoint *c);

/* The first line of the log. */
int run_log(Run *r, Error *e);
/* What is trained, how, and from which weights, on standard output. */
void run_announce(Run *r);

/* What the run would need. */
int run_memory(const Program *p, Session *s, const Checkpoint *c, Error *e);

#endif
