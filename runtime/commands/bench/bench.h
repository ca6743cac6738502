/* SPDX-License-Identifier: MIT
** A measurement of the command bench.
**   bench_run.c       what is run
**   bench_report.c    what is printed
**   bench_profile.c   times of single kernels
**   bench_blas.c      generated products and OpenBLAS's beside each other
*/
#ifndef STRATA_BENCH_H
#define STRATA_BENCH_H

#include "bench_profile.h"
#include "kernel_cost.h"
#include "machine.h"
#include "standalone.h"

typedef enum BenchMode { BENCH_OF_TRAIN, BENCH_OF_PREFILL, BENCH_OF_DECODE } BenchMode;

/* Who does the products that OpenBLAS could do: nobody asks, generated kernels, OpenBLAS. */
typedef enum BenchWay { WAY_BUILT, WAY_GENERATED, WAY_OPENBLAS, WAYS } BenchWay;

/* Of programs that call OpenBLAS. */
typedef struct BenchWays {
    double median[WAYS];   /* s, taken in turns; 0: not measured */
    Profile profile[WAYS]; /* not of WAY_BUILT */
} BenchWays;

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
    double *reads;    /* [looks]: bytes/s, each time that memory was read */
    double *products; /* [looks]: FLOP/s of products, each time */
    int64_t looks;
    Profile profile;
    int64_t profiled;                       /* steps in the profile */
    double median, peak, bandwidth, memory; /* s, FLOP/s, bytes/s, bytes */
    double meanwhile;                       /* FLOP/s of products between steps */
    double vectors; /* peak FLOP/s of vectors, where float32 is multiplied in tiles; else 0 */
    BenchWays ways;
} Bench;

/* Tokens that a step is about. */
static inline double bench_tokens(const Bench *b) {
    return (double)b->batch * (b->mode == BENCH_OF_DECODE ? 1.0 : (double)b->length);
}

/* What is measured: a step in a control block; steps that are profiled. */
int bench_prefill(Bench *b, void *ctx, int64_t length, Error *e);
int bench_step(Bench *b, void *ctx, int64_t step, double *seconds, Error *e);
enum { BENCH_PROFILED = 2 };
double bench_median(double *x, int64_t n);
/* A kernel's work in it. */
const strata_work *bench_work(const Bench *b, const strata_kernel *k);
Cost bench_cost(const Bench *b, const strata_kernel *k);

/* Nothing is done for a program that does not call OpenBLAS, nor for decoding. */
int bench_ways(Bench *b, Error *e);
void bench_ways_close(Bench *b);
void bench_ways_text(const Bench *b, Text *t);
/* Members of the report, and of a kernel's line. */
void bench_ways_json(const Bench *b, Text *t);
void bench_ways_kernel(const Bench *b, int32_t kernel, Text *t);

int bench_report(const Bench *b, Error *e);

#endif
