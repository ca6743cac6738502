/* SPDX-License-Identifier: MIT
** The progress that eval shows on standard error: on a terminal one line that is rewritten and
** finally removed, otherwise an occasional line.
*/
#ifndef STRATA_EVALUATE_WATCH_H
#define STRATA_EVALUATE_WATCH_H

#include "data.h"
#include "train/progress.h"

typedef struct EvalWatch {
    Progress progress;
    int64_t done; /* windows */
    double begun, told;
} EvalWatch;

/* Of all sources' windows, in as many forms as the model has. */
void eval_watch_open(EvalWatch *x, const Data *d, int64_t length, int forms);
void eval_watch(void *watch, int64_t windows, double nll, int64_t tokens);
void eval_watch_close(EvalWatch *x);

#endif
