/* SPDX-License-Identifier: MIT
** Calls of a strata_reducer, with errors that name the rank; where there is none, this is the only
** rank and nothing is done.
*/
#ifndef STRATA_RANKS_H
#define STRATA_RANKS_H

#include <stdbool.h>

#include "error.h"
#include "strata.h"

/* Refuses services that cannot be right; NULL: there are none. */
int services_check(const strata_services *s, Error *e);

static inline int32_t rank_of(const strata_reducer *r) { return r ? r->rank : 0; }
static inline int32_t ranks_of(const strata_reducer *r) { return r ? r->ranks : 1; }
/* Whether this rank is the one that writes. */
static inline bool rank_writes(const strata_reducer *r) { return rank_of(r) == 0; }

/* What a function of the reducer returned, as a status. */
int rank_status(const strata_reducer *r, int32_t code, const char *doing, Error *e);
/* Sums over all ranks. */
int ranks_sum(const strata_reducer *r, double *x, int64_t count, Error *e);
/* The first rank's numbers, for all. */
int ranks_agree(const strata_reducer *r, double *x, int64_t count, Error *e);

#endif
