/*
** What the machine can do, measured on the threads that will work.
*/
#ifndef STRATA_MACHINE_H
#define STRATA_MACHINE_H

#include "strata.h"

double machine_now(void);                       /* seconds, monotonic */

/* Multiply-adds as FLOP/s of all workers together; about 0.2 s.  'cpu', the descriptor's, says what
** products take: float32, or bfloat16 if it ends with +avx512bf16 or +amx-bf16. */
double machine_peak(strata_pool *pool, const char *cpu);

/* Bytes a second read from memory by all workers together; about 0.2 s.  0: not enough memory to tell. */
double machine_bandwidth(strata_pool *pool);

double machine_memory_peak(void);               /* the process's high-water mark, bytes */
double machine_memory_free(void);               /* what could be had without swapping, bytes; 0: unknown */

#endif
