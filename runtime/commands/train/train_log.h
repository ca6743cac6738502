/* SPDX-License-Identifier: MIT
** The log of a training run: JSON lines, the run's first, then one per step or evaluation.
** Every line is one write: a killed process leaves at most its last line incomplete.
*/
#ifndef STRATA_TRAIN_LOG_H
#define STRATA_TRAIN_LOG_H

#include "data.h"
#include "error.h"
#include "json.h"

typedef struct TrainLog {
    int fd; /* -1: none */
    const char *path;
    Text line;
} TrainLog;

typedef struct TrainStep {
    int64_t step;
    double loss, cross_entropy, lr, grad_norm, tokens_per_second, seconds;
    const double *routed; /* share of tokens that each route took */
    int32_t routes;
    const double *load; /* of each buffer's statistic, the largest over the mean */
    int32_t loads;
    const double *epoch; /* of each source of the data: how often it was gone through */
    int32_t sources;
} TrainStep;

typedef struct TrainEvaluation {
    int64_t step;
    double loss;
    const double *training_form; /* the loss in the form that is trained; NULL: there is one form */
    int64_t best_step;
    double best;
    const Data *val; /* of several sources each has its loss */
    const double *val_loss;
} TrainEvaluation;

/* path NULL: a log that keeps nothing.  resume >= 0: lines of later steps are cut, the
** others stay; else the file starts anew.  A file that is no such log is refused, and so is that of
** another run than 'run' (NULL: of any).
** *fresh: it is empty and wants its first line. */
int train_log_open(TrainLog *l, const char *path, const char *run, int64_t resume, bool *fresh,
                   Error *e);
int train_log_step(TrainLog *l, const TrainStep *s, Error *e);
int train_log_evaluation(TrainLog *l, const TrainEvaluation *x, Error *e);
/* writes l->line, which the caller made, and clears it */
int train_log_line(TrainLog *l, Error *e);
void train_log_close(TrainLog *l);

#endif
