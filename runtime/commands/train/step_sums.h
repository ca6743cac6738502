/* SPDX-License-Identifier: MIT
** The gradients of a step, summed over its micro-batches in the fixed tree of sum_tree.h, whoever
** computes them. This rank's micro-batches go one after another through TRAIN; a sum that waits for
** its right half is put aside. One micro-batch and one rank: there is nothing to do.
*/
#ifndef STRATA_STEP_SUMS_H
#define STRATA_STEP_SUMS_H

#include "session.h"

enum { STEP_PARTS = 64 };

typedef struct StepSums {
    const strata_reducer *reducer; /* NULL: one rank */
    strata_pool *pool;
    float *gradients;             /* in TRAIN */
    int64_t floats;               /* of them */
    int64_t leaves, first, count; /* micro-batches of the step, and this rank's */
    int64_t leaf;                 /* the one that is computed */
    strata_part part[STEP_PARTS]; /* sums of this rank, the last one in TRAIN */
    int parts, joined;            /* before this leaf; that it is the right half of */
    strata_step step;             /* what the reducer was told */
    Region aside[STEP_PARTS];     /* where part[i] is put */
    int64_t done, range_end;      /* gradients of this leaf that are summed; a range's end */
    Error failed;                 /* why the reducer stopped it */
} StepSums;

/* Bytes that are put aside for so many micro-batches. */
int64_t step_sums_bytes(const strata_model *m, int64_t leaves, const strata_reducer *r);
/* s: its TRAIN is open. */
int step_sums_open(StepSums *x, const Session *s, const strata_reducer *r, int64_t leaves,
                   Error *e);
void step_sums_close(StepSums *x); /* harmless on {0} */

/* Around a forward_backward that does not accumulate, for each micro-batch of this rank in order:
** it is given step_sums_final (NULL where there is nothing to do) and x. After the last one TRAIN
** has the sums of all ranks. */
int step_sums_begin(StepSums *x, int64_t leaf, Error *e);
strata_range_fn step_sums_final(const StepSums *x);
int step_sums_end(StepSums *x, Error *e);

#endif
