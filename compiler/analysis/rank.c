/* SPDX-License-Identifier: MIT
** Numerical rank.  Entries of a depth-mixing matrix may differ by many orders of magnitude (a
** product of gates over fifty layers).  Rows and columns are therefore scaled to size 1 before
** Gaussian elimination with full pivoting.
*/
#include "mixing.h"
#include "fatal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double negligible = 1e-8;

typedef struct Matrix {
    double *a;
    int rows, columns;
} Matrix;

static double *rank_entry(const Matrix *m, int i, int k) {
    return &m->a[(size_t)i * (size_t)m->columns + (size_t)k];
}

static void scale_rows(const Matrix *m) {
    for (int i = 0; i < m->rows; i++) {
        double most = 0;
        for (int k = 0; k < m->columns; k++)
            most = fmax(most, fabs(*rank_entry(m, i, k)));
        for (int k = 0; k < m->columns && most > 0; k++)
            *rank_entry(m, i, k) /= most;
    }
}

static void scale_columns(const Matrix *m) {
    for (int k = 0; k < m->columns; k++) {
        double most = 0;
        for (int i = 0; i < m->rows; i++)
            most = fmax(most, fabs(*rank_entry(m, i, k)));
        for (int i = 0; i < m->rows && most > 0; i++)
            *rank_entry(m, i, k) /= most;
    }
}

static void swap(double *a, double *b) {
    double c = *a;
    *a = *b;
    *b = c;
}

/* Brings the largest entry from (at, at) on to (at, at); returns its size. */
static double pivot(const Matrix *m, int at) {
    int row = at, column = at;
    for (int i = at; i < m->rows; i++)
        for (int k = at; k < m->columns; k++)
            if (fabs(*rank_entry(m, i, k)) > fabs(*rank_entry(m, row, column))) row = i, column = k;
    for (int k = 0; k < m->columns; k++)
        swap(rank_entry(m, at, k), rank_entry(m, row, k));
    for (int i = 0; i < m->rows; i++)
        swap(rank_entry(m, i, at), rank_entry(m, i, column));
    return fabs(*rank_entry(m, at, at));
}

static void eliminate(const Matrix *m, int at) {
    for (int i = at + 1; i < m->rows; i++) {
        double f = *rank_entry(m, i, at) / *rank_entry(m, at, at);
        for (int k = at; k < m->columns; k++)
            *rank_entry(m, i, k) -= f * *rank_entry(m, at, k);
    }
}

int matrix_rank(const double *a, int rows, int columns, int stride) {
    Matrix m = { checked_new((size_t)rows * (size_t)columns, sizeof *m.a), rows, columns };
    int rank = 0, most = rows < columns ? rows : columns;
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < columns; k++)
            *rank_entry(&m, i, k) = a[(size_t)i * (size_t)stride + (size_t)k];
    scale_rows(&m);
    scale_columns(&m);
    while (rank < most && pivot(&m, rank) > negligible)
        eliminate(&m, rank++);
    free(m.a);
    return rank;
}

int mixing_dense(int size, int k) { return k + 1 < size - k ? k + 1 : size - k; }

int mixing_rank(const Mixing *x, int k) {
    size_t entries = (size_t)x->size * (size_t)x->size;
    int most = 0;
    for (int i = 0; i < x->samples * x->channels; i++) {
        const double *block = x->one + (size_t)i * entries + (size_t)k * (size_t)x->size;
        int rank = matrix_rank(block, x->size - k, k + 1, x->size);
        if (rank > most) most = rank;
    }
    return most;
}
