/* SPDX-License-Identifier: MIT
** vmath.h's functions, as math.c exports them, for compilers that have not its
** vectors; and those that only the kernels use. */
#ifndef TESTS_MATH_CALLS_H
#define TESTS_MATH_CALLS_H

#include <stdint.h>

/* Any n. */
void call_k_exp(int64_t n, const float *x, float *y);
void call_k_exp_weight(int64_t n, const float *x, float *y);
void call_k_log(int64_t n, const float *x, float *y);
void call_k_tanh(int64_t n, const float *x, float *y);
void call_k_erf(int64_t n, const float *x, float *y);
void call_k_sigmoid(int64_t n, const float *x, float *y);
void call_exp2(int64_t n, const float *x, float *y);
void call_exp_below(int64_t n, const float *x, float *y);

#endif
