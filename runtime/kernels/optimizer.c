/* SPDX-License-Identifier: MIT
** AdamW, sums of squares and other passes over long ranges of parameters.  AdamW is elementwise: a
** range may be split anywhere without changing bits. k_sum_squares adds blocks of a fixed size,
** each in double precision in a fixed order, so that the same n gives the same order.
*/
#include "kernels.h"
#include "vector.h"

/* What AdamW's formulas need of a step, as vectors. */
typedef struct AdamStep {
    V decay; /* 1 - lr wd */
    V grad_scale, beta1, rest1, beta2, rest2;
    V eps, rate, correct2; /* lr / c1, 1 / c2 */
} AdamStep;

INLINE V adamw(const AdamStep *s, V p, V g, V *m, V *v) {
    g = g * s->grad_scale;
    *m = v_fma(s->beta1, *m, s->rest1 * g);
    *v = v_fma(s->beta2, *v, s->rest2 * (g * g));
    V root = __builtin_elementwise_sqrt(*v * s->correct2);
    return v_fma(-s->rate, *m / (root + s->eps), p * s->decay);
}

void k_adamw(int64_t n, float *p, const float *g, float *m, float *v, float lr, float beta1,
             float beta2, float eps, float weight_decay, float c1, float c2, float grad_scale) {
    AdamStep s = { v_splat(1.0f - lr * weight_decay),
                   v_splat(grad_scale),
                   v_splat(beta1),
                   v_splat(1.0f - beta1),
                   v_splat(beta2),
                   v_splat(1.0f - beta2),
                   v_splat(eps),
                   v_splat(lr / c1),
                   v_splat(1.0f / c2) };
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        V mean = v_load(m + i), square = v_load(v + i);
        v_store(p + i, adamw(&s, v_load(p + i), v_load(g + i), &mean, &square));
        v_store(m + i, mean);
        v_store(v + i, square);
    }
    if (i < n) {
        int64_t left = n - i;
        V mean = v_load_part(m + i, left), square = v_load_part(v + i, left);
        v_store_part(p + i,
                     adamw(&s, v_load_part(p + i, left), v_load_part(g + i, left), &mean, &square),
                     left);
        v_store_part(m + i, mean, left);
        v_store_part(v + i, square, left);
    }
}

typedef double D __attribute__((vector_size(LANES * 8)));

static double block_squares(int64_t n, const float *g) {
    D even = { 0 }, odd = { 0 };
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        D x = __builtin_convertvector(v_load(g + i), D),
          y = __builtin_convertvector(v_load(g + i + LANES), D);
        even += x * x;
        odd += y * y;
    }
    even += odd;
    double sum = 0;
    for (int c = 0; c < LANES; c++)
        sum += even[c];
    for (; i < n; i++)
        sum += (double)g[i] * g[i];
    return sum;
}

double k_sum_squares(int64_t n, const float *g) {
    enum { ONCE = 4096 };
    double sum = 0;
    for (int64_t i = 0; i < n; i += ONCE)
        sum += block_squares(n - i < ONCE ? n - i : ONCE, g + i);
    return sum;
}

/* Columns of a few vectors side by side: rows are gone over once for all of them. */
static inline void reduce_vectors(int vectors, int64_t rows, const float *part, int64_t ld,
                                  float *out, int add) {
    V sum[4];
    for (int v = 0; v < vectors; v++)
        sum[v] = add ? v_load(out + v * LANES) : v_zero();
    for (int64_t r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            sum[v] += v_load(part + r * ld + v * LANES);
    for (int v = 0; v < vectors; v++)
        v_store(out + v * LANES, sum[v]);
}

void k_reduce_rows(int64_t rows, int64_t n, const float *part, int64_t ld, float *out, int add) {
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        reduce_vectors(4, rows, part + i, ld, out + i, add);
    for (; i + LANES <= n; i += LANES)
        reduce_vectors(1, rows, part + i, ld, out + i, add);
    for (; i < n; i++) {
        float sum = add ? out[i] : 0;
        for (int64_t r = 0; r < rows; r++)
            sum += part[r * ld + i];
        out[i] = sum;
    }
}

void k_zero(int64_t n, float *p) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        v_store(p + i, v_zero());
    for (; i < n; i++)
        p[i] = 0;
}
