/* SPDX-License-Identifier: MIT
** Two models with parameters of the same names, asked for the same numbers. */
#ifndef TESTS_TWIN_MODEL_H
#define TESTS_TWIN_MODEL_H

#include "numeric.h"

/* Of a parameter, by name; -1: there is none. */
int param_index(const Graph *g, const char *name);
/* A graph of logits and losses, and of the gradients. */
Graph *with_gradients(const Graph *g);
/* The gradient by a parameter, which must be there. */
const double *gradient_of(const Eval *ev, const Graph *g, const char *name);
/* The values of all parameters of 'to'. */
void copy_values(const Case *from, Case *to);
/* A case for another graph with the same parameters. */
Case *case_like(const Case *c, Graph *g);

/* Fails with 'spec' and 'what' if numbers differ by more than 1e-9 of the largest, or of 'least'
** if that is more. */
void expect_twin(const char *spec, const char *what, const double *got, const double *want,
                 int64_t count, double least);

/* Copies files of tests/routes, NULL-ended, beside the specs of a test. */
void copy_routes(void **state, const char *const *file);

#endif
