/* SPDX-License-Identifier: MIT
** This machine's rates (rates.h): measured by 'strata doctor --measure', saved in the cache.
*/
#ifndef STRATA_MACHINE_RATES_H
#define STRATA_MACHINE_RATES_H

#include "allowance.h"
#include "machine_products.h"
#include "rates.h"

/* What is kept of code for this processor with as many threads as there are processors; 'measured'
** is false where nothing is. */
Rates machine_rates(void);
/* Of the same measurement: OpenBLAS's products beside generated ones. */
ProductRatios machine_ratios(void);
/* Builds small models, times their kernels and keeps what comes out; 'path', of 'size' bytes, is
** where.  Products are not measured where there is no OpenBLAS. */
int machine_rates_measure(Allowance *a, Rates *out, ProductRatios *products, char *path,
                          size_t size, Error *e);

#endif
