/* SPDX-License-Identifier: MIT
** What tests of strata compare share: small models that differ in their residual, compared.
** Specs are written into the test's folder (scratch.h); everything asserts.
*/
#ifndef TEST_SMALL_COMPARISON_H
#define TEST_SMALL_COMPARISON_H

#include "comparison.h"

enum { SMALL_RESIDUALS = 8 };
/* Of what is added to a comparison. */
enum { ROUNDS = 5, SEEDS = 3, STEPS = 40, EVALUATIONS = 4 };
extern const char *const small_residual[SMALL_RESIDUALS];

Report *small_comparison_report(void **state, const char *file, const char *residual, int layers);
/* The first n of the residuals; the files of the specs are "0.lua" and so on. */
Comparison small_comparison(void **state, int n, int layers);
/* Variant i takes 1 + share * i times the baseline's time, give or take a percent. */
void add_times(Comparison *c, double share);
/* Variant i's validation loss is 3, 2.5, 2, 1.5 and lower by 'better' times i; a step takes 1 s. */
void add_training(Comparison *c, double better);
double *numbers(size_t n); /* zeros, malloc'ed */
/* What 'write' writes, malloc'ed; its length into *n unless that is NULL. */
char *comparison_written(const Comparison *c, void (*write)(const Comparison *, Text *), size_t *n);

#endif
