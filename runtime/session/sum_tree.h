/* SPDX-License-Identifier: MIT
** The fixed tree in which what micro-batches give is added up. A node of more than one leaf is the
** sum of its left half, the largest power of two of leaves that leaves some for the right half, and
** of that: ((0 + 1) + (2 + 3)) + 4. So the first 2^k leaves are a node, and who computes leaves in
** order needs to keep no more sums than a counter of them has bits.
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
