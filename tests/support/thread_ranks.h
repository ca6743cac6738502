/* SPDX-License-Identifier: MIT
** Threads of this process as ranks that train one model together: what a strata_reducer is asked
** for is done in memory that they share.
*/
#ifndef TESTS_THREAD_RANKS_H
#define TESTS_THREAD_RANKS_H

#include "strata.h"

enum { THREAD_RANKS = 16 };

typedef struct ThreadRanks ThreadRanks;

ThreadRanks *thread_ranks_new(int ranks);
void thread_ranks_free(ThreadRanks *t);
const strata_reducer *thread_ranks_reducer(ThreadRanks *t, int rank);

/* "model WORDS" on so many ranks, each a thread, in a process of the test's own; their exit
** statuses into 'status'. Words are separated by blanks. ranks 0: one, without a reducer. */
void thread_ranks_run(const strata_api *api, int ranks, const char *words, int *status);

#endif
