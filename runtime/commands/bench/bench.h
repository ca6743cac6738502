/* SPDX-License-Identifier: MIT
** A measurement of the command bench.
**   bench_run.c       what is run
**   bench_report.c    what is printed
**   bench_profile.c   times of single kernels
*/
#ifndef STRATA_BENCH_H
#define STRATA_BENCH_H

#include "bench_profile.h"
#include "machine.h"
#include "standalone.h"

typedef enum BenchMode { BENCH_OF_TRAIN, BENCH_OF_PREFILL, BENCH_OF_DECODE } BenchMode;

typedef struct Bench {
    const Program *p;
    Session s;
    BenchMode mode;
    int64_t batch, length, prompt, steps; /* decode: length tokens after prompt */
    int32_t *tokens, *targets;            /* [batch, length] */
    float *logits;                        /* [batch, V] */
    Region *state;                        /* [batch] */
    void **states;
    double share;    /* of the tokens that routes take */
    double *seconds; /* [steps]: each step's time */
    MachineStream stream;
    double *reads; /* [looks]: bytes/s, each time that it was read */
    int64_t looks;
    Profile profile;
    int64_t profiled;                       /* steps in the profile */
    double median, peak, bandwidth, memory; /* s, FLOP/s, bytes/s, bytes */
} Bench;

/* Tokens that a step is about. */
static inline double bench_tokens(const Bench *b) {
    return (double)b->batch * (b->mode == BENCH_OF_DECODE ? 1.0 : (double)b->length);
}

int bench_report(const Bench *b, Error *e);

#endif
