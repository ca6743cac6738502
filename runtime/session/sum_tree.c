/* SPDX-License-Identifier: MIT
** See sum_tree.h, and strata_sum_parts in strata.h. */
#include "sum_tree.h"

#include <stddef.h>
#include <string.h>

enum { DEPTH = 64, BLOCK = 256 };

#define LEAVES_MOST (INT64_C(1) << 40)

/* The left half is full, and in its node the first; only the last node may have a right half that
** is not. */
bool sum_tree_join(int64_t leaves, strata_part *left, const strata_part *right) {
    int64_t full = left->count, end = right->first + right->count;
    bool half = !(full & (full - 1)) && left->first % full == 0 && left->first / full % 2 == 0;
    if (!half || left->first + full != right->first) return false;
    if (right->count != full && (right->count > full || end != leaves)) return false;
    left->count += right->count;
    return true;
}

double sum_tree_numbers(const double *x, int64_t leaves, int64_t stride) {
    int64_t left = 1;
    if (leaves == 1) return *x;
    while (2 * left < leaves)
        left *= 2;
    return sum_tree_numbers(x, left, stride)
        + sum_tree_numbers(x + left * stride, leaves - left, stride);
}

int64_t sum_tree_share(int64_t leaves, int32_t rank, int32_t ranks, int64_t *first) {
    int64_t each = leaves / ranks, more = leaves % ranks;
    *first = each * rank + (rank < more ? rank : more);
    return each + (rank < more);
}

/* == Parts of all ranks =================================================== */

static bool is_node(int64_t leaves, const strata_part *p) {
    int64_t full = 1;
    if (p->first < 0 || p->count < 1 || p->count > leaves - p->first) return false;
    while (full < p->count)
        full *= 2;
    return p->first % full == 0 && (p->count == full || p->first + p->count == leaves);
}

static bool are_parts(int64_t leaves, const strata_part *part, int64_t parts) {
    int64_t at = 0;
    if (leaves < 1 || leaves > LEAVES_MOST || !part) return false;
    for (int64_t i = 0; i < parts; at += part[i++].count)
        if (part[i].first != at || !is_node(leaves, &part[i]) || !part[i].at) return false;
    return at == leaves;
}

/* n numbers, at most BLOCK, from 'from' on. */
static void sum_block(int64_t leaves, const strata_part *part, int64_t parts, int64_t from,
                      int64_t n, float *out) {
    float sum[DEPTH][BLOCK];
    strata_part node[DEPTH];
    int depth = 0;
    for (int64_t i = 0; i < parts; i++) {
        node[depth] = part[i];
        memcpy(sum[depth++], part[i].at + from, (size_t)n * sizeof **sum);
        for (; depth > 1 && sum_tree_join(leaves, &node[depth - 2], &node[depth - 1]); depth--)
            for (int64_t k = 0; k < n; k++)
                sum[depth - 2][k] += sum[depth - 1][k];
    }
    memcpy(out + from, sum[0], (size_t)n * sizeof **sum);
}

int32_t strata_sum_parts(int64_t leaves, const strata_part *part, int64_t parts, int64_t count,
                         float *out) {
    if (!are_parts(leaves, part, parts) || count < 0 || !out) return STRATA_ERROR_ARGUMENT;
    for (int64_t at = 0; at < count; at += BLOCK)
        sum_block(leaves, part, parts, at, count - at < BLOCK ? count - at : BLOCK, out);
    return STRATA_OK;
}
