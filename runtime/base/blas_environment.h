/* SPDX-License-Identifier: MIT
** Environment variables that make OpenBLAS behave differently.
*/
#ifndef STRATA_BLAS_ENVIRONMENT_H
#define STRATA_BLAS_ENVIRONMENT_H

#include <stddef.h>

/* "NAME=value, ..."; "" if none is set.  Number of threads is none of them: the model says one. */
const char *blas_environment(char *to, size_t size);

#endif
