/* SPDX-License-Identifier: MIT
** Learning rates over a run.
*/
#ifndef STRATA_SCHEDULE_H
#define STRATA_SCHEDULE_H

#include "checkpoint.h"
#include "settings.h"

/* The rate of step begun + 1 … steps of a run. */
double schedule_rate(const Checkpoint *run, int64_t step);
/* The rate of the step that ends when this share of a run's minutes is over: above 0, at most 1. */
double schedule_rate_by_time(const Checkpoint *run, double share);

#endif
