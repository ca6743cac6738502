/* SPDX-License-Identifier: MIT
** What tests of strata compare share: small models that differ in their residual, compared.
** Specs are written into the test's folder (scratch.h); everything asserts.
*/
#ifndef TEST_SMALL_COMPARISON_H
#define TEST_SMALL_COMPARISON_H

#include "comparison.h"

enum { SMALL_RESIDUALS = 8 };
extern const char *const small_residual[SMALL_RESIDUALS];

Report *small_comparison_report(void **state, const char *file, const char *residual, int layers);
/* The first n of the residuals; the files of the specs are "0.lua" and so on. */
Comparison small_comparison(void **state, int n, int layers);
/* What 'write' writes, malloc'ed; its length into *n unless that is NULL. */
char *comparison_written(const Comparison *c, void (*write)(const Comparison *, Text *), size_t *n);

#endif
