/* SPDX-License-Identifier: MIT
** Which implementation multiplies in a build, and the OpenBLAS that the build is linked with: an
** archive if there is one, else a shared library.  All threads of a model's pool call it, so a
** build of OpenBLAS for a single thread is refused: it does not lock its memory, and its products
** would be wrong.
*/
#ifndef STRATA_BLAS_LIBRARY_H
#define STRATA_BLAS_LIBRARY_H

#include "build.h"

#include <limits.h>

typedef struct BlasLibrary {
    char path[PATH_MAX]; /* "": there is none */
    bool archive;
    char serial[PATH_MAX]; /* one that cannot be taken; "": none */
} BlasLibrary;

/* What cc finds, or $STRATA_OPENBLAS names. */
void blas_find(BlasLibrary *out);

/* For which processor its kernels are here, in a program that is linked with it: "Haswell"; with
** what the environment says of that, or without. False: it could not be asked. */
bool blas_core(const BlasLibrary *l, bool environment, Allowance *a, char *core, size_t size);

/* What code.products of a build is to be; 'library' is filled where it will be linked. */
int blas_choose(BuildOptions *o, ProductRatios *ratios, BlasLibrary *library, Error *e);

#endif
