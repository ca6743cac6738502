/*
** Learning rates over a run.
*/
#ifndef STRATA_SCHEDULE_H
#define STRATA_SCHEDULE_H

#include <stdint.h>

enum { SCHEDULE_CONSTANT = 0, SCHEDULE_COSINE = 1, SCHEDULE_WSD = 2 }; /* strata_model.schedule */

typedef struct Schedule {
    int kind;
    double lr, min_lr;
    double warmup, decay; /* shares of the run */
    int64_t steps;        /* the run */
} Schedule;

/* The rate of step 1 … steps. */
double schedule_rate(const Schedule *s, int64_t step);

#endif
