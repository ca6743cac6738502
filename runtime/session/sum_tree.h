/* SPDX-License-Identifier: MIT
** Adds up the results of micro-batches in a fixed tree, so that the sum has the same bits however
** they are distributed.  The left half of a node with n leaves has the largest power of two below
** n, the right half the rest: ((0 + 1) + (2 + 3)) + 4.  So the first 2^k leaves are a node, and
** computing n leaves in order needs room for log2(n) + 1 sums at most.
*/
#ifndef STRATA_SUM_TREE_H
#define STRATA_SUM_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "strata.h"

/* The node that left and right make; false: they make none, in a tree of so many leaves. */
bool sum_tree_join(int64_t leaves, strata_part *left, const strata_part *right);

/* x[0] + x[stride] + …, of one number or more. */
double sum_tree_numbers(const double *x, int64_t leaves, int64_t stride);

/* The leaves that one of several ranks computes: *first, and how many. */
int64_t sum_tree_share(int64_t leaves, int32_t rank, int32_t ranks, int64_t *first);

#endif
