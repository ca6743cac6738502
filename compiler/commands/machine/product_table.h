/* SPDX-License-Identifier: MIT
** The numbers of products of all orientations and sizes, for the files that measure and that keep
** them. */
#ifndef STRATA_PRODUCT_TABLE_H
#define STRATA_PRODUCT_TABLE_H

#include "machine_products.h"

/* Members of the file, and the operations of their kernels. */
typedef struct ProductKey {
    const char *key, *operation;
} ProductKey;
extern const ProductKey product_orientation[ORIENTATIONS];

/* Numbers of all orientations and sizes, one after another. */
enum { ALL_PRODUCTS = ORIENTATIONS * PRODUCT_SIZES * PRODUCT_SIZES };
typedef double ProductTable[ORIENTATIONS][PRODUCT_SIZES][PRODUCT_SIZES];
double *products_entry(ProductTable t, int i);

#endif
