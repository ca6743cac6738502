/* SPDX-License-Identifier: MIT
** The scratch memory of an iteration (rows_iterate.c). */
#ifndef STRATA_ROWS_ITERATION_H
#define STRATA_ROWS_ITERATION_H

#include "rows.h"

/* In elements: of the matrix, of what a half keeps, of all the operation needs. */
typedef struct IterationSize {
    int64_t rows, columns, matrix, half;
    int64_t iterations, stretch, stretches;
    int64_t kept, starts, all; /* where halves and first matrices begin; all there is */
} IterationSize;

IterationSize iteration_size(const Node *n);

#endif
