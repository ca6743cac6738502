/* SPDX-License-Identifier: MIT
** The rates that explain the times of kernels. */
#ifndef STRATA_RATES_FIT_H
#define STRATA_RATES_FIT_H

#include "rates.h"

typedef struct TimedKernel {
    const char *family;
    RateWork work;
    double seconds; /* that all of the work took */
} TimedKernel;

/* Sets all rates, nothing else of r; 'peak': FLOPs a second of the machine.  false: there is no
** kernel of some family. */
bool rates_fit(Rates *r, const TimedKernel *k, int n, double peak);

#endif
