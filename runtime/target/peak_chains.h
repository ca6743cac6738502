/* SPDX-License-Identifier: MIT
** A loop of CHAINS independent chains of fused multiply-adds of V, which SET(x) makes of a number
** and FMA(a, b, c) adds to: enough to hide their latency on all processors so far, and all in
** registers.
*/
#ifndef STRATA_PEAK_CHAINS_H
#define STRATA_PEAK_CHAINS_H

enum { CHAINS = 12 };

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define DECLARE(i) V a##i = SET(0.5f + 0.01f * i);
#define STEP(i) a##i = FMA(a##i, m, c);
#define ADD(i) s += a##i;
#define BODY                                       \
    V m = SET(0.999f), c = SET(1e-3f), s = SET(0); \
    EACH(DECLARE)                                  \
    for (int64_t n = 0; n < rounds; n++) {         \
        EACH(STEP)                                 \
    }                                              \
    EACH(ADD)                                      \
    return s[0];

#endif
