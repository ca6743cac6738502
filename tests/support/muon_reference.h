/* SPDX-License-Identifier: MIT
** Muon's direction in float64, written down from its definition. */
#ifndef TESTS_MUON_REFERENCE_H
#define TESTS_MUON_REFERENCE_H

#include <stdint.h>

/* x[rows, columns] / |x|, then 'steps' times x <- a x + b s x + c s s x, s = x x^T, whichever side
** is longer. */
void reference_orthogonal(int64_t rows, int64_t columns, int steps, double *x);

#endif
