/* SPDX-License-Identifier: MIT
** OpenBLAS's products beside generated ones, on this machine: measured by 'strata doctor --measure'
** in programs that do both in turns, kept with the machine's rates (machine_rates.h), read by
** build --blas auto.
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
