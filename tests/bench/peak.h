/*
** The multiply-add peak of one core in GFLOP/s: independent chains of v_fma,
** all in registers.  For benches, which are compiled as the kernels are.
*/
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include "vector.h"
#ifdef __AMX_BF16__
#include "tiles.h"
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Before kernels run: the system's leave to use tiles, where they are compiled for them; whether it
** gave it. */
static inline int bench_begin(void) {
#ifdef __AMX_BF16__
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
#else
    return 1;
#endif
}

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

/* The same of what multiplies bfloat16s: tiles, pairs, or float32 where there is neither. */
#ifdef __AMX_BF16__
static inline double peak_pairs(double (*now)(void)) {
    enum { CHAINS = 4, ROUNDS = 20000, RUNS = 30, PRODUCTS = 16 * 16 * 32 };
    static const uint16_t zeros[16][32];
    double best = 0;
    TILES_BEGIN;
    _tile_loadd(4, zeros, 64);
    _tile_loadd(6, zeros, 64);
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (int i = 0; i < ROUNDS; i++) {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 6);
            _tile_dpbf16ps(2, 4, 6);
            _tile_dpbf16ps(3, 4, 6);
        }
        double rate = 2e-9 * CHAINS * PRODUCTS * ROUNDS / (now() - start);
        best = rate > best ? rate : best;
    }
    TILES_END;
    return best;
}
#elif defined(__AVX512BF16__)
static inline double peak_pairs(double (*now)(void)) {
    enum { CHAINS = 12, ROUNDS = 50000, RUNS = 60 };
    double best = 0;
    V sum[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        sum[c] = v_splat((float)c);
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (int i = 0; i < ROUNDS; i++)
            UNROLL for (int c = 0; c < CHAINS; c++) {
                sum[c] = v_dot(sum[c], v_splat(0.999f), v_splat(1e-3f));
                __asm__ volatile("" : "+x"(sum[c]));
            }
        double rate = 4e-9 * CHAINS * LANES * ROUNDS / (now() - start);
        best = rate > best ? rate : best;
    }
    return best;
}
#else
static inline double peak_pairs(double (*now)(void)) { return peak_rate(now); }
#endif

#endif
