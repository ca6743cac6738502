/* SPDX-License-Identifier: MIT
** The multiply instructions of a processor, and loops that measure their speed; a target's peak.c.
*/
#ifndef STRATA_PEAK_H
#define STRATA_PEAK_H

#include <stdbool.h>
#include <stdint.h>

typedef enum Multiplier {
    MULTIPLY_FLOATS, /* vectors of float32 */
    MULTIPLY_PAIRS,  /* vectors of pairs of bfloat16s */
    MULTIPLY_TILES,  /* tiles of bfloat16s */
    MULTIPLY_PARTS   /* the same, six products for one of float32 (kernels: parts.h) */
} Multiplier;

/* Of code for a level, as models name it; 'narrow': products are of bfloat16 or small weights;
** 'own': not OpenBLAS'. */
Multiplier peak_multiplier(const char *cpu, bool narrow, bool own);

/* CHAINS chains of multiply-adds (peak_chains.h); NULL: this processor has nothing better than
** vectors of four floats. */
typedef struct PeakLoop {
    float (*run)(int64_t rounds);
    int64_t rounds;  /* that take long enough to be measured; 0: as many as usual */
    double products; /* that one step of a chain adds */
} PeakLoop;
PeakLoop peak_loop(Multiplier m);

#endif
