/* SPDX-License-Identifier: MIT
** vector.h's functions, for compilers that have not its vectors. */
#ifndef TESTS_VECTOR_CALLS_H
#define TESTS_VECTOR_CALLS_H

#include <stdint.h>

/* Any n; the rest work on LANES floats, parts on n < LANES of them. */
void call_exp(int64_t n, const float *x, float *y);
void call_log(int64_t n, const float *x, float *y);
void call_fma(const float *a, const float *b, const float *c, float *lanes, float *one);
float call_sum(const float *x);
void call_sums(const float *x, float *y);
float call_largest(const float *x);
void call_load_part(const float *x, int64_t n, float *y);
void call_store_part(const float *x, int64_t n, float *y);
void call_keep(const float *x, int64_t n, float other, float *y);
void call_order(const float *a, const float *b, float *larger, float *smaller);

#endif
