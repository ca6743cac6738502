/* SPDX-License-Identifier: MIT
** Chooses between the generated kernel and OpenBLAS for each product.  Between the measured sizes,
** the ratio of the two times is interpolated over the logarithm of the size; beyond them it is
** constant.
*/
#include "tables.h"

#include <math.h>

/* Less than what a measurement of the same twice differs by is no reason to call a library. */
static const double WORTH = 0.99;

/* Among the sizes: the one below and how far to the next. */
static double place_of_size(int64_t n, int *below) {
    double x = log2((double)n / PRODUCT_SMALLEST);
    if (x < 0) x = 0;
    if (x > PRODUCT_SIZES - 1) x = PRODUCT_SIZES - 1;
    *below = x < PRODUCT_SIZES - 2 ? (int)x : PRODUCT_SIZES - 2;
    return x - *below;
}

static double ratio_at(const ProductRatios *r, Orientation o, int64_t m, int64_t k) {
    int i, j;
    double x = place_of_size(m, &i), y = place_of_size(k, &j);
    const double (*at)[PRODUCT_SIZES] = &r->of[o][i];
    return (1 - x) * ((1 - y) * at[0][j] + y * at[0][j + 1])
        + x * ((1 - y) * at[1][j] + y * at[1][j + 1]);
}

int32_t product_choice(Tables *t, Orientation o, int64_t m, int64_t k, bool floats) {
    if (t->products == PRODUCTS_GENERATED || !floats) return BLAS_CANNOT;
    if (t->products == PRODUCTS_AUTO && ratio_at(t->ratios, o, m, k) > WORTH) return BLAS_CAN;
    t->bytes.constants.blas = 1;
    return BLAS_DOES;
}

int32_t product_chosen(const Action *a) {
    switch (a->what) {
    case DO_LINEAR:
    case DO_LINEAR_BACK: return a->product.blas;
    case DO_OUTER: return a->outer.blas;
    default: return BLAS_CANNOT;
    }
}

const char *products_of(const Tables *t) {
    return !t->bytes.constants.blas    ? "generated"
        : t->products == PRODUCTS_AUTO ? "auto"
                                       : "openblas";
}
