/*
** The multiply-add peak of one core in GFLOP/s: independent chains of v_fma,
** all in registers.  For benches, which are compiled as the kernels are.
*/
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include "vector.h"

/* The best of some short runs; 'now' gives seconds. */
static inline double peak_rate(double (*now)(void)) {
    enum { CHAINS = 12, ROUNDS = 50000, RUNS = 60 };
    V sum[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        sum[c] = v_splat((float)c);
    double best = 0;
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (int i = 0; i < ROUNDS; i++)
            UNROLL for (int c = 0; c < CHAINS; c++) {
                sum[c] = v_fma(sum[c], v_splat(0.999f), v_splat(1e-3f));
                __asm__ volatile("" : "+x"(sum[c]));
            }
        double rate = 2e-9 * CHAINS * LANES * ROUNDS / (now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

#endif
