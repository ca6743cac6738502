/* SPDX-License-Identifier: MIT
** How fast a machine executes the parts of kernels, and the predicted time of a kernel: the one
** model for inspect, compare and bench.
*/
#ifndef STRATA_RATES_H
#define STRATA_RATES_H

#include <stdbool.h>

/* A second of all threads together. */
typedef struct Rates {
    double products;  /* FLOPs of matrix products */
    double sequences; /* of attention, recurrences and the loss */
    double rows;      /* of row kernels */
    double functions; /* RateWork's, but for products' */
    double memory;    /* bytes that kernels read and write */
    double waiting;   /* not a rate: what threads wait for each other, over the time of kernels */
    int threads;
    bool measured; /* on this machine; else what most with such a processor do */
} Rates;

/* What a kernel does in a call, or in many. */
typedef struct RateWork {
    double flops;
    double functions; /* what exponentials, divisions and the like take beyond their FLOP, and
                      ** products at their edges, in multiply-adds of a vector unit that take as
                      ** long; a product's take as long as its others */
    double bytes;
} RateWork;

/* The longer of arithmetic and of what it reads and writes; 'family' is the kernel table's.  A rate
** of 0 costs nothing. */
double rates_seconds(const Rates *r, const char *family, RateWork w);

/* Of a processor with so many floats in a vector, or with tiles, without a look at it. */
Rates rates_default(int lanes, bool tiles, int threads);

#endif
