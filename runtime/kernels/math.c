/* SPDX-License-Identifier: MIT
** The elementary functions as functions with names, for generated row kernels: they call these on
** <LANES x float> values, and LLVM inlines them all.  A call would cost more than the function: no
** vector register outlives it, so that what a kernel holds in registers is stored and loaded
** again, and constants are loaded for each vector.
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
