/* SPDX-License-Identifier: MIT
** Learning rates over a run.
*/
#ifndef STRATA_SCHEDULE_H
#define STRATA_SCHEDULE_H

#include "checkpoint.h"
#include "settings.h"

/* The rate of step 1 … steps of a run. */
double schedule_rate(const Checkpoint *run, int64_t step);

#endif
