/* SPDX-License-Identifier: MIT
** Measures what the machine can do, on the threads that will do the work.
*/
#ifndef STRATA_MACHINE_H
#define STRATA_MACHINE_H

#include "peak.h"
#include "strata.h"

double machine_now(void);        /* seconds, monotonic */
double machine_thread_now(void); /* that this thread ran */

Multiplier machine_multiplier(const strata_model *m);

/* Multiply-adds as FLOP/s of all workers together; about 0.2 s. */
double machine_peak(strata_pool *pool, Multiplier m);
/* The same as others leave it at the moment: the mean of about 10 ms, not the best. */
double machine_products(strata_pool *pool, Multiplier m);

/* Memory that no cache holds, to see how fast it can be read; none (at NULL) if there is not
** enough. */
typedef struct MachineStream {
    void *at;
    size_t bytes;
} MachineStream;

void machine_stream_open(MachineStream *stream, strata_pool *pool);
/* Reads it once with all workers, about 10 ms: bytes per second, 0 if there is none. */
double machine_stream_read(const MachineStream *stream, strata_pool *pool);
void machine_stream_close(MachineStream *stream);

double machine_memory_peak(void); /* the process's high-water mark, bytes */
double machine_memory_free(void); /* what could be had without swapping, bytes; 0: unknown */

#endif
