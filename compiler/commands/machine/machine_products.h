/* SPDX-License-Identifier: MIT
** Times of OpenBLAS's products and generated products on this machine.  'strata doctor --measure'
** measures them in programs that run both in turns, and saves them with the machine's rates
** (machine_rates.h); build --blas auto reads them.
*/
#ifndef STRATA_MACHINE_PRODUCTS_H
#define STRATA_MACHINE_PRODUCTS_H

#include "allowance.h"
#include "codegen.h"
#include "json.h"

/* Times products of all sizes; 'folder' is for the programs. */
int machine_products_measure(Allowance *a, const char *folder, ProductRatios *out, Error *e);

/* As they are kept: a member of an object. */
void products_write(Text *t, const ProductRatios *r);
/* Not measured if they are not there, or are none. */
ProductRatios products_read(const Json *j);

/* For people: how many of those that were measured OpenBLAS is to do. */
void products_tell(char *to, size_t size, const ProductRatios *r);

#endif
