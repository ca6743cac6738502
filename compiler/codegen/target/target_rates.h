/* SPDX-License-Identifier: MIT
** What was measured on processors of a target, and plans and predicted times go by.
*/
#ifndef STRATA_TARGET_RATES_H
#define STRATA_TARGET_RATES_H

typedef struct TargetRates {
    /* Tokens per task: a power of two times the smallest.  'wide' is the largest for vectors of
    ** 16 floats or more. */
    int smallest_chunk, largest_chunk, wide_chunk;
    /* A byte of weights, which come from further away than what another chunk has pushed out, over
    ** one of those. */
    double weight_price;
    double tile_steps; /* steps of a product's tile that take as long as its beginning and end */
    double packing;    /* multiply-adds that take as long as a packed number */
} TargetRates;

#endif
