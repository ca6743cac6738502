/* SPDX-License-Identifier: MIT
** vector.h's functions as plain ones, for vector_test.c. */
#include "transpose.h"
#include "vector_calls.h"

#define EACH(name, f)                                          \
    void name(int64_t n, const float *x, float *y) {           \
        for (; n >= LANES; n -= LANES, x += LANES, y += LANES) \
            v_store(y, f(v_load(x)));                          \
        if (n > 0) v_store_part(y, f(v_load_part(x, n)), n);   \
    }

EACH(call_exp, v_exp)
EACH(call_log, v_log)

void call_fma(const float *a, const float *b, const float *c, float *lanes, float *one) {
    v_store(lanes, v_fma(v_load(a), v_load(b), v_load(c)));
    for (int l = 0; l < LANES; l++)
        one[l] = s_fma(a[l], b[l], c[l]);
}

float call_sum(const float *x) { return v_sum(v_load(x)); }
void call_sums(const float *x, float *y) {
    V rows[LANES];
    for (int i = 0; i < LANES; i++)
        rows[i] = v_load(x + i * LANES);
    v_store(y, sums_of(rows));
}

float call_largest(const float *x) { return v_largest(v_load(x)); }
void call_load_part(const float *x, int64_t n, float *y) { v_store(y, v_load_part(x, n)); }
void call_store_part(const float *x, int64_t n, float *y) { v_store_part(y, v_load(x), n); }
void call_keep(const float *x, int64_t n, float other, float *y) {
    v_store(y, v_keep(v_load(x), n, other));
}

void call_order(const float *a, const float *b, float *larger, float *smaller) {
    v_store(larger, v_max(v_load(a), v_load(b)));
    v_store(smaller, v_min(v_load(a), v_load(b)));
}
