/* SPDX-License-Identifier: MIT
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

/* Seconds of work(of), the shortest of some runs: what else the machine does can only add to
** them. */
static inline double shortest(int runs, double (*now)(void), void (*work)(const void *),
                              const void *of) {
    double best = 1e9;
    for (int run = 0; run < runs; run++) {
        double start = now();
        work(of);
        double took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

enum { PEAK_RUNS = 60, PEAK_CHAINS = 12, PEAK_ROUNDS = 50000 };

/* PEAK_CHAINS sums, each of which waits for itself only. */
#define PEAK_CHAINS_(step)                             \
    V sum[PEAK_CHAINS];                                \
    for (int c = 0; c < PEAK_CHAINS; c++)              \
        sum[c] = v_splat((float)c);                    \
    for (int i = 0; i < PEAK_ROUNDS; i++)              \
        UNROLL for (int c = 0; c < PEAK_CHAINS; c++) { \
            sum[c] = step;                             \
            __asm__ volatile("" : "+x"(sum[c]));       \
        }

static inline void peak_fma(const void *none) {
    (void)none;
    PEAK_CHAINS_(v_fma(sum[c], v_splat(0.999f), v_splat(1e-3f)))
}

/* 'now' gives seconds. */
static inline double peak_rate(double (*now)(void)) {
    return 2e-9 * PEAK_CHAINS * LANES * PEAK_ROUNDS / shortest(PEAK_RUNS, now, peak_fma, 0);
}

/* The same of what multiplies bfloat16s: tiles, pairs, or float32 where there is neither. */
#ifdef __AMX_BF16__
static inline void peak_tiles(const void *none) {
    (void)none;
    for (int i = 0; i < PEAK_ROUNDS; i++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 6);
        _tile_dpbf16ps(2, 4, 6);
        _tile_dpbf16ps(3, 4, 6);
    }
}

static inline double peak_pairs(double (*now)(void)) {
    enum { PRODUCTS = 4 * 16 * 16 * 32 };
    static const uint16_t zeros[16][32];
    TILES_BEGIN;
    _tile_loadd(4, zeros, 64);
    _tile_loadd(6, zeros, 64);
    double best = shortest(PEAK_RUNS, now, peak_tiles, 0);
    TILES_END;
    return 2e-9 * PRODUCTS * PEAK_ROUNDS / best;
}
#elif defined(__AVX512BF16__)
static inline void peak_dot(const void *none) {
    (void)none;
    PEAK_CHAINS_(v_dot(sum[c], v_splat(0.999f), v_splat(1e-3f)))
}

static inline double peak_pairs(double (*now)(void)) {
    return 4e-9 * PEAK_CHAINS * LANES * PEAK_ROUNDS / shortest(PEAK_RUNS, now, peak_dot, 0);
}
#else
static inline double peak_pairs(double (*now)(void)) { return peak_rate(now); }
#endif

#endif
