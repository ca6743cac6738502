/* SPDX-License-Identifier: MIT
** All outputs of a run: checkpoints, the log, event files, and standard output.  If several ranks
** train one model together, only the first one has outputs.  For the others Run.outputs is NULL,
** and these functions do nothing.
*/
#ifndef STRATA_TRAIN_OUTPUTS_H
#define STRATA_TRAIN_OUTPUTS_H

#include "event_file.h"
#include "progress.h"
#include "train_log.h"

struct Run;

typedef struct Outputs {
    char *best, *before;    /* beside --out: the best by validation, and FILE.prev */
    bool saved, saved_best; /* here, since the run began or went on */
    TrainLog log;
    EventFile events; /* --tensorboard */
    Progress progress;
} Outputs;

/* Names the files, beside the run's 'out', and refuses those that cannot be written. */
int outputs_open(struct Run *r, Error *e);
/* Once it is known where the run begins: the log and event files, and their first lines. */
int outputs_begin(struct Run *r, Error *e);
/* Says what the run is, whose minutes count from here. */
void outputs_start(struct Run *r);
/* After a step: the log, event files, the line on the terminal. */
int outputs_step(struct Run *r, const TrainStep *x, Error *e);
/* After an evaluation, which r->state and r->val_loss tell of. best: none was better; training: the
** loss in the form that is trained. */
int outputs_evaluation(struct Run *r, double loss, double training, bool best, Error *e);
/* What the run came to, and how to go on. worked: a step was made. */
void outputs_end(struct Run *r, bool worked);
/* What was lost of standard output: STATUS_OK: nothing. */
int outputs_lost(const struct Run *r, Error *e);
void outputs_close(struct Run *r);

#endif
