/* SPDX-License-Identifier: MIT
** What libraries to be preloaded share: each counts something that one program does, from the
** beginning of main, over all processes that come of it by fork, and lets it fail once.
**   FAULT_OF=NAME     the program; others that are started on the way are left alone
**   FAULT_COUNT=FILE  holds a FaultCount
**   FAULT_AT=N        the one that fails; 0: none
**   FAULT_FILES=N     descriptors that it may have, the standard three included; unset: as many
**                     as whoever starts it
*/
#ifndef TESTS_PRELOAD_H
#define TESTS_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct FaultCount {
    uint64_t count;
    char what[56]; /* that failed, if the library says so */
} FaultCount;

bool preload_counts(void); /* main has begun, of this program */
/* Counts one more: its number, from 1. */
uint64_t preload_next(void);
uint64_t preload_fault(void); /* FAULT_AT */
void preload_say(const char *what);

/* The library's own preparations, called before main; what it does there is not counted. */
void preload_prepare(void);

#endif
