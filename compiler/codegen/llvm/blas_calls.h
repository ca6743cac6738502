/* SPDX-License-Identifier: MIT
** The functions by which a model calls OpenBLAS (runtime/model/program.h: k_sgemm, k_blas_open).
*/
#ifndef STRATA_BLAS_CALLS_H
#define STRATA_BLAS_CALLS_H

#include "emit.h"

/* Defines them; without 'calls' they do nothing, and the module names no function of OpenBLAS.
** 'main': the program can tell which OpenBLAS it is (strata_openblas_..). */
void define_blas(Emit *e, bool calls, bool main);
/* One of these names. */
bool is_blas_name(const char *name);

#endif
