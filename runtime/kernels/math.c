/* SPDX-License-Identifier: MIT
** Elementary functions for generated row kernels, which call them on <LANES x float> values; LLVM
** inlines all of these calls.  A real call would cost more than the function: no vector register
** survives it, so the kernel would store and load what it holds in registers, and load constants
** for each vector.
*/
#include "vmath.h"

#define EXPORTED __attribute__((used, visibility("hidden"), always_inline))

EXPORTED V k_exp(V x);
EXPORTED V k_exp_weight(V x);
EXPORTED V k_log(V x);
EXPORTED V k_tanh(V x);
EXPORTED V k_erf(V x);
EXPORTED V k_sigmoid(V x);

V k_exp(V x) { return v_exp(x); }
V k_exp_weight(V x) { return v_exp_weight(x); }
V k_log(V x) { return v_log(x); }
V k_tanh(V x) { return v_tanh(x); }
V k_erf(V x) { return v_erf(x); }
V k_sigmoid(V x) { return v_sigmoid(x); }
