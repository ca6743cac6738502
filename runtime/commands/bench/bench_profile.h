/* SPDX-License-Identifier: MIT
** Times of a model's kernels, from the profile hook (abi.h).
*/
#ifndef STRATA_BENCH_PROFILE_H
#define STRATA_BENCH_PROFILE_H

#include "error.h"
#include "strata.h"

typedef struct Profile {
    int32_t kernels, workers, stride;
    bool processor; /* a thread's own time counts: what else runs on the machine does not */
    double *begun, *seconds; /* [workers][stride], so that workers share no cache line */
} Profile;

int profile_open(Profile *p, const strata_model *m, int32_t workers, Error *e);
void profile_close(Profile *p);

/* A strata_profile_fn; user is a Profile. */
void profile_hook(void *user, int32_t index, int32_t begin, int32_t worker);

/* Seconds that kernel 'index' took, as if all workers had shared it evenly. */
double profile_seconds(const Profile *p, int32_t index);

#endif
