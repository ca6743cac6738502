/* SPDX-License-Identifier: MIT
** Who multiplies in what is built, and the OpenBLAS that it is linked with: an archive where there
** is one, else a shared library.  Tasks call it from all threads of a model's pool, so a build of
** it that is for one thread alone is not taken: its memory is not locked, and products go wrong.
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
bool blas_core(const BlasLibrary *l, bool environment, char *core, size_t size);

/* What code.products of a build is to be; 'library' is filled where it will be linked. */
int blas_choose(BuildOptions *o, ProductRatios *ratios, BlasLibrary *library, Error *e);

#endif
