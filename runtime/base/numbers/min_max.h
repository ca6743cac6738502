/* SPDX-License-Identifier: MIT
** The smaller and the larger of two whole numbers. */
#ifndef STRATA_MIN_MAX_H
#define STRATA_MIN_MAX_H

#include <stdint.h>

static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int min_int(int a, int b) { return a < b ? a : b; }

#endif
