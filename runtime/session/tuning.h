/* SPDX-License-Identifier: MIT
** How a model's tensors are trained, in groups of those that are trained alike. */
#ifndef STRATA_TUNING_H
#define STRATA_TUNING_H

#include "abi.h"
#include "json.h"

typedef struct TuningGroup {
    int32_t by; /* STRATA_ADAMW, ... */
    int32_t tensors;
    int64_t parameters;
    double lr, weight_decay; /* of the model's own rate; of tensors of two or more dimensions */
} TuningGroup;

enum { TUNING_GROUPS = 32 }; /* told at most; what comes behind counts with the last one */

/* The groups, in the order in which they are met, what is frozen last; how many there are. 'lr':
** the model's rate. */
int tuning_groups(const strata_model *m, double lr, TuningGroup group[TUNING_GROUPS]);
const char *tuning_by(int32_t by); /* "adamw", ... */

/* A line for each group, where there are several. */
void tuning_lines(Text *t, const strata_model *m);

#endif
