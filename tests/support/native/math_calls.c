/* SPDX-License-Identifier: MIT
** The elementary functions over arrays, for vmath_test.c. */
#include "vmath.h"
#include "math_calls.h"

V k_exp(V x);
V k_exp_weight(V x);
V k_log(V x);
V k_tanh(V x);
V k_erf(V x);
V k_sigmoid(V x);

#define EACH(name, f)                                          \
    void name(int64_t n, const float *x, float *y) {           \
        for (; n >= LANES; n -= LANES, x += LANES, y += LANES) \
            v_store(y, f(v_load(x)));                          \
        if (n > 0) v_store_part(y, f(v_load_part(x, n)), n);   \
    }

EACH(call_k_exp, k_exp)
EACH(call_k_exp_weight, k_exp_weight)
EACH(call_k_log, k_log)
EACH(call_k_tanh, k_tanh)
EACH(call_k_erf, k_erf)
EACH(call_k_sigmoid, k_sigmoid)
EACH(call_exp2, v_exp2)
EACH(call_exp_below, v_exp_below)
