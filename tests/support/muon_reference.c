/* SPDX-License-Identifier: MIT
** See muon_reference.h. */
#include "muon_reference.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>

/* s[rows, rows] = x x^T */
static void gram(int64_t rows, int64_t columns, const double *x, double *s) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < rows; j++) {
            double sum = 0;
            for (int64_t k = 0; k < columns; k++)
                sum += x[i * columns + k] * x[j * columns + k];
            s[i * rows + j] = sum;
        }
}

/* y[rows, columns] = s[rows, rows] x[rows, columns] */
static void apply(int64_t rows, int64_t columns, const double *s, const double *x, double *y) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++) {
            double sum = 0;
            for (int64_t j = 0; j < rows; j++)
                sum += s[i * rows + j] * x[j * columns + k];
            y[i * columns + k] = sum;
        }
}

void reference_orthogonal(int64_t rows, int64_t columns, int steps, double *x) {
    int64_t n = rows * columns;
    double *s = calloc((size_t)(rows * rows), sizeof *s), *once = calloc((size_t)n, sizeof *once),
           *twice = calloc((size_t)n, sizeof *twice), squares = 0;
    assert_true(s && once && twice);
    for (int64_t i = 0; i < n; i++)
        squares += x[i] * x[i];
    for (int64_t i = 0; i < n; i++)
        x[i] /= fmax(sqrt(squares), 1e-7);
    for (int k = 0; k < steps; k++) {
        gram(rows, columns, x, s);
        apply(rows, columns, s, x, once);
        apply(rows, columns, s, once, twice);
        for (int64_t i = 0; i < n; i++)
            x[i] = 3.4445 * x[i] - 4.7750 * once[i] + 2.0315 * twice[i];
    }
    free(s), free(once), free(twice);
}
