/* SPDX-License-Identifier: MIT
** This machine's rates (rates.h): measured by 'strata doctor --measure', kept in the cache. */
#ifndef STRATA_MACHINE_RATES_H
#define STRATA_MACHINE_RATES_H

#include "allowance.h"
#include "codegen.h"
#include "rates.h"

/* What is kept of code for this processor with as many threads as there are processors; 'measured'
** is false where nothing is. */
Rates machine_rates(void);
/* Of the same measurement: OpenBLAS's products beside generated ones. */
ProductRatios machine_products(void);
/* Builds a small model, times its kernels and keeps what comes out; 'path', of 'size' bytes, is
** where. */
int machine_rates_measure(Allowance *a, Rates *out, char *path, size_t size, Error *e);

#endif
