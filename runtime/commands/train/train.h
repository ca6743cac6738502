/* SPDX-License-Identifier: MIT
** One run of training: everything that the command train holds while it runs.
**   train_setup.c      opens it: options, weights
**   train_settings.c   as given, as saved, or the spec's
**   train_words.c      where its data is
**   train_texts.c      its data
**   train_memory.c     its memory; --dry-run
**   train_resume.c     the checkpoint that it goes on from
**   train_replace.c    what others left at its place
**   train.c            the loop
**   train_gradients.c  a step's loss and gradients, of which step_sums.c adds up what ranks have
**   train_outputs.c    all that it writes, by means of
**     train_state.c    what is kept of it
**     train_start.c    what it says before
**     train_routes.c   what routes took in the end
*/
#ifndef STRATA_TRAIN_H
#define STRATA_TRAIN_H

#include "checkpoint.h"
#include "data_order.h"
#include "standalone.h"
#include "schedule.h"
#include "step_sums.h"
#include "train_outputs.h"
#include "weights.h"

/* What names the data and what the end is to leave, and how a checkpoint says it. */
typedef struct RunWords {
    DataWords data, val;
    Json saved;           /* of the checkpoint: strings of the words */
    const char **list[2]; /* of data, of val, that were not typed */
    char *bytes[2];       /* of those that are no UTF-8 */
    bool remembered[2];
    bool weights_only; /* in the end, typed or saved */
    BeginChoice bos;   /* typed or saved */
    Text text;
} RunWords;

typedef struct Run {
    const Program *p;
    Session s;
    Tokenizer tokenizer;
    Data text;                     /* of --data */
    Data data, val;                /* what is trained and evaluated on: parts of it, or of --val */
    bool reads_text, reads_fields; /* some file is no token file */
    bool evaluates;
    double *val_loss; /* of each source of val */
    DataOrder order;
    Checkpoint state; /* step, seeds, best …: what a checkpoint will say */
    char *out;        /* --out */
    Outputs *outputs; /* NULL: another rank's */
    RunWords words;
    double start;              /* of the minutes, by machine_now */
    double evaluating;         /* seconds of the slowest evaluation */
    double share;              /* of the minutes, when the step is over that is made */
    int32_t *tokens, *targets; /* [batch, context] */
    StepSums sums;             /* of gradients, over a step's micro-batches */
    double *numbers;           /* what each of these says, a row each (train_gradients.c) */
    double *routed;            /* shares of tokens that routes took in a step */
    double *late_routed;       /* the same, added up over the steps of the run's last tenth */
    int64_t late;              /* how many these were */
    double *load;              /* of buffers' statistics: how uneven they are */
    double *epochs;            /* of each source of data */
    bool resumed;
    WeightsTaken init; /* --init: what became of it */
} Run;

/* Numbers of a micro-batch: a row of Run.numbers; behind them the share that each route took. */
enum { STEP_LOSS, STEP_CROSS_ENTROPY, STEP_ROUTED };
static inline int64_t step_numbers(const Run *r) { return STEP_ROUTED + r->p->m->routed; }

/* Everything up to the first step; says on standard output what it is going to do. */
int run_open(Run *r, Error *e);
void run_close(Run *r);

/* The settings: as given, else as in 'saved' (NULL: none), else the spec's. */
void run_settings(const Program *p, const Checkpoint *saved, Checkpoint *c);

/* Reads --data and --val with the tokenizer of 'from' (NULL: none). */
int run_texts(Run *r, const Safetensors *from, Error *e);
int run_open_memory(Run *r, Error *e);
/* All micro-batches of a step: mean loss and gradients. */
int run_gradients(Run *r, TrainStep *x, Error *e);
/* "--steps 100", "--minutes 2" */
char *run_length(const Checkpoint *c, char to[48]);

/* What is typed, else what is saved ("words" of a checkpoint, NULL: nothing). */
int run_words(Run *r, const char *saved, Error *e);
/* Data could not be opened: says so if it was not typed. */
int run_words_lost(const Run *r, OptionId id, int status, Error *e);
/* Checkpoints from before the ends of texts counted know several by their bytes alone: where these
** are the run's texts, by their number and names, now's hashes become the saved ones.  An error if
** it was begun with several, which one file has joined now. */
int run_words_joined(const Run *r, const Checkpoint *saved, Checkpoint *now, Error *e);
void run_words_free(RunWords *w);

/* Names the first tensor that is not finite: STATUS_DIVERGED. */
int run_diverged(const Run *r, int64_t step, const char *quantity, double value, Error *e);
int run_save(Run *r, Error *e);
int run_save_best(Run *r, Error *e);
/* What it came to, and how to go on. worked: a step was made. */
void run_end(Run *r, bool worked);

/* After a step; and at the end, what routes took next to nothing of the last tenth's tokens. */
void run_routes_step(Run *r, const TrainStep *x);
void run_routes_end(Run *r);

int run_resume(Run *r, Error *e);
/* An error where the run would replace what another one made. */
int run_keeps(Run *r, Error *e);
/* After the first checkpoint of a run that began: FILE.prev and FILE.best of the one before it go,
** as FILE went. */
int run_replaces(Run *r, Error *e);

/* The first line of the log. */
int run_log(Run *r, Error *e);
/* The same for people who look at event files: a text, "run". */
int run_events(Run *r, Error *e);
/* What is trained, how, and from which weights, on standard output. */
void run_announce(Run *r);

/* What the run would need. */
int run_memory(const Program *p, Session *s, const Checkpoint *c, Error *e);

#endif
