/* SPDX-License-Identifier: MIT
** Vectors of LANES floats for the kernel library: loads and stores at any
** float address, parts of a vector at the end of a row (nothing past the end
** is touched), sums in one fixed order, and exp and log.
**
** Every helper is inlined and needs no library function.  Where the target has
** no fused multiply-add (LANES = 4), v_fma is a product and a sum: calling
** libm's fmaf for each lane would be a hundred times slower.  The bits of a
** result so depend on the target, never on anything else.
*/
#ifndef STRATA_VECTOR_H
#define STRATA_VECTOR_H

#include <stdint.h>
#include <stddef.h>
#if LANES != 4 && LANES != 8 && LANES != 16
#error "compile with -DLANES=4, 8 or 16"
#endif
#include "processor.h"

typedef float V __attribute__((vector_size(LANES * 4)));
typedef int32_t VI __attribute__((vector_size(LANES * 4)));
/* How vectors lie in memory: 4-byte aligned, over any floats. */
typedef float VMem __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t VIMem __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline, unused))
#define NOINLINE static __attribute__((noinline, unused))
/* Before a loop of constant length over an array of vectors: the array becomes registers. */
#define UNROLL _Pragma("clang loop unroll(full)")

#if LANES == 16
#define SPLAT_(x) { x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x }
#elif LANES == 8
#define SPLAT_(x) { x, x, x, x, x, x, x, x }
#else
#define SPLAT_(x) { x, x, x, x }
#endif
INLINE V v_splat(float x) { return (V)SPLAT_(x); }
INLINE VI vi_splat(int32_t x) { return (VI)SPLAT_(x); }
INLINE V v_zero(void) { return (V){ 0 }; }
INLINE V v_load(const float *p) { return *(const VMem *)p; }
INLINE void v_store(float *p, V x) { *(VMem *)p = x; }
INLINE VI vi_load(const int32_t *p) { return *(const VIMem *)p; }
INLINE void vi_store(int32_t *p, VI x) { *(VIMem *)p = x; }

/* 0, 1, .. LANES - 1 */
INLINE VI vi_iota(void) {
#if LANES == 16
    return (VI){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
#elif LANES == 8
    return (VI){ 0, 1, 2, 3, 4, 5, 6, 7 };
#else
    return (VI){ 0, 1, 2, 3 };
#endif
}

/* a * b + c, rounded once where the target can. */
INLINE V v_fma(V a, V b, V c) {
#if PROCESSOR_FMA
    return __builtin_elementwise_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* As v_fma, of one lane: the same bits. */
INLINE float s_fma(float a, float b, float c) {
#if PROCESSOR_FMA
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

INLINE V v_from_bits(VI x) { return (V)x; }
INLINE VI v_bits(V x) { return (VI)x; }
INLINE V v_to_float(VI x) { return __builtin_convertvector(x, V); }

/* Comparisons of V give VI lanes of 0 or -1: v_select(a > b, a, b). */
INLINE V v_select(VI mask, V yes, V no) { return (V)((mask & (VI)yes) | (~mask & (VI)no)); }
INLINE V v_abs(V a) { return (V)((VI)a & 0x7fffffff); }

/* bfloat16: the upper half of a float32. */
typedef uint16_t VH __attribute__((vector_size(LANES * 2)));
typedef uint16_t VHMem __attribute__((vector_size(LANES * 2), aligned(2), may_alias));
typedef uint16_t VPairsMem __attribute__((vector_size(LANES * 4), aligned(2), may_alias));
typedef uint32_t VU __attribute__((vector_size(LANES * 4)));

INLINE V v_widen(VH x) { return (V)(__builtin_convertvector(x, VU) << 16); }
INLINE V v_load_bf16(const uint16_t *p) { return v_widen(*(const VHMem *)p); }
/* Two to a lane, as they lie. */
INLINE V v_load_pairs(const uint16_t *p) { return (V) * (const VPairsMem *)p; }

#include "simd.h" /* the target's */

/* If either is NaN, b. */
#ifndef SIMD_MAX
INLINE V v_max(V a, V b) { return v_select(a > b, a, b); }
INLINE V v_min(V a, V b) { return v_select(a < b, a, b); }
#endif

/* v_load_part: the first n < LANES floats at p, zeros above; reads no more than them.
** v_store_part: stores the first n < LANES lanes; writes no more than them. */
#ifndef SIMD_PART
INLINE V v_load_part(const float *p, int64_t n) {
    V x = v_zero();
    for (int l = 0; l < LANES - 1; l++)
        x[l] = l < n ? p[l] : 0;
    return x;
}

INLINE void v_store_part(float *p, V x, int64_t n) {
    for (int l = 0; l < LANES - 1; l++)
        if (l < n) p[l] = x[l];
}
#endif

/* Rounded to bfloat16: nearest, ties to even; NaN stays NaN, in its upper half too.  v_pairs has
** those of 'even' in the lower halves of its lanes.  A processor's instruction may take denormals
** as zeros, also in v_dot: sum + the dot products of the two that a and b have in each lane. */
#ifndef SIMD_BF16
INLINE V v_bf16(V x) {
    VU bits = (VU)x, up = bits + 0x7fff + (bits >> 16 & 1);
    return v_select(x != x, (V)(bits | 0x400000), (V)(up & 0xffff0000u));
}

INLINE VH v_narrow(V x) { return __builtin_convertvector((VU)v_bf16(x) >> 16, VH); }
INLINE V v_pairs(V even, V odd) {
    return (V)((VU)v_bf16(even) >> 16 | ((VU)v_bf16(odd) & 0xffff0000u));
}

INLINE V v_dot(V sum, V a, V b) {
    V even = v_fma((V)((VU)a << 16), (V)((VU)b << 16), sum);
    return v_fma((V)((VU)a & 0xffff0000u), (V)((VU)b & 0xffff0000u), even);
}
#endif

INLINE void v_store_bf16(uint16_t *p, V x) { *(VHMem *)p = v_narrow(x); }

/* The first n < LANES bfloat16s at p, zeros above. */
INLINE V v_load_bf16_part(const uint16_t *p, int64_t n) {
    VH x = { 0 };
    for (int l = 0; l < LANES - 1; l++)
        x[l] = l < n ? p[l] : 0;
    return v_widen(x);
}

/* x with the lanes from n on replaced by 'other'. */
INLINE V v_keep(V x, int64_t n, float other) {
    return v_select(vi_iota() < (int32_t)n, x, v_splat(other));
}

/* The order of sums and maxima over a vector's lanes: halves, again and again. */
typedef float V4 __attribute__((vector_size(16)));
typedef float V8 __attribute__((vector_size(32)));

#if LANES == 16
#define V_FOLD4(x, op)                                                           \
    V8 eight_ = op(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7),        \
                   __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15)); \
    V4 four_ = op(__builtin_shufflevector(eight_, eight_, 0, 1, 2, 3),           \
                  __builtin_shufflevector(eight_, eight_, 4, 5, 6, 7))
#elif LANES == 8
#define V_FOLD4(x, op)                                       \
    V4 four_ = op(__builtin_shufflevector(x, x, 0, 1, 2, 3), \
                  __builtin_shufflevector(x, x, 4, 5, 6, 7))
#else
#define V_FOLD4(x, op) V4 four_ = x
#endif
#define V_ADD_(a, b) ((a) + (b))
#define V_MAX_(a, b) __builtin_elementwise_max(a, b)

INLINE float v_sum(V x) {
    V_FOLD4(x, V_ADD_);
    return (four_[0] + four_[2]) + (four_[1] + four_[3]);
}

/* Of numbers, not NaN. */
INLINE float v_largest(V x) {
    V_FOLD4(x, V_MAX_);
    float even = V_MAX_(four_[0], four_[2]), odd = V_MAX_(four_[1], four_[3]);
    return V_MAX_(even, odd);
}

/* x = n ln 2 + r: e^r, n, and n + more, which is even, as the low bits of a number near 1.5 * 2^23,
** to which adding rounds to an integer. */
typedef struct ExpParts {
    V power, n, shifted;
} ExpParts;

enum { EXPONENT_BIAS = 127, EXP_EACH = 8 };

INLINE void v_exp_parts_each(const int n, const V *x, int more, ExpParts *e) {
    const V magic = v_splat(12582912.0f + (float)more);
    V r[EXP_EACH], p[EXP_EACH];
    for (int i = 0; i < n; i++) {
        e[i].shifted = v_fma(x[i], v_splat(1.44269504f), magic);
        e[i].n = e[i].shifted - magic;
    }
    for (int i = 0; i < n; i++)
        r[i] = v_fma(e[i].n, v_splat(-0.693359375f), x[i]);
    for (int i = 0; i < n; i++)
        r[i] = v_fma(e[i].n, v_splat(2.12194440e-4f), r[i]);
    for (int i = 0; i < n; i++)
        p[i] = v_fma(v_splat(1.386348973e-3f), r[i], v_splat(8.367620409e-3f));
    for (int i = 0; i < n; i++)
        p[i] = v_fma(p[i], r[i], v_splat(4.166724533e-2f));
    for (int i = 0; i < n; i++)
        p[i] = v_fma(p[i], r[i], v_splat(1.666653305e-1f));
    for (int i = 0; i < n; i++)
        p[i] = v_fma(p[i], r[i], v_splat(0.5f));
    for (int i = 0; i < n; i++)
        p[i] = v_fma(p[i], r[i], v_splat(1.0f));
    for (int i = 0; i < n; i++)
        e[i].power = v_fma(p[i], r[i], v_splat(1.0f));
}

INLINE ExpParts v_exp_parts(V x, int more) {
    ExpParts e;
    v_exp_parts_each(1, &x, more, &e);
    return e;
}

/* e^x within 1 ulp over the whole range, 1.2 without fused multiply-add: -inf gives 0, large x inf,
** NaN itself.  2^n is applied in two halves, so that results may be denormal.  Of n vectors, up to
** EXP_EACH, the steps go side by side: each waits for the one before. */
INLINE void v_exp_each(const int n, V *x) {
    ExpParts e[EXP_EACH];
    for (int i = 0; i < n; i++)
        x[i] = v_min(v_splat(89.0f), v_max(v_splat(-104.0f), x[i]));
#ifdef SIMD_SCALE
    v_exp_parts_each(n, x, 0, e);
    for (int i = 0; i < n; i++)
        x[i] = v_scale(e[i].power, e[i].n); /* the same, rounded once too */
#else
    v_exp_parts_each(n, x, 2 * EXPONENT_BIAS, e);
    for (int i = 0; i < n; i++) {
        VI shifted = (VI)e[i].shifted, low = (shifted >> 1) << 23, high = (shifted << 23) - low;
        x[i] = e[i].power * (V)low * (V)high;
    }
#endif
}

INLINE V v_exp(V x) {
    v_exp_each(1, &x);
    return x;
}

/* The same, to the bit, of x up to 40: 2^(n + 65) is normal, what is left is a constant. */
INLINE V v_exp_below(V x) {
    x = v_max(v_splat(-104.0f), x);
#ifdef SIMD_SCALE
    ExpParts e = v_exp_parts(x, 0);
    return v_scale(e.power, e.n);
#else
    ExpParts e = v_exp_parts(x, 65 + EXPONENT_BIAS);
    return e.power * (V)((VI)e.shifted << 23) * 0x1p-65f;
#endif
}

/* Natural log within 1 ulp: of 0 -inf, of negatives NaN, of inf and NaN themselves.
** x = 2^e m with m in [sqrt(1/2), sqrt(2)). */
INLINE V v_log(V x) {
    VI tiny = x < 1.17549435e-38f;
    V y = v_select(tiny, x * 8388608.0f, x); /* denormals: times 2^23 */
    VI bits = (VI)y - 0x3f3504f3;            /* less sqrt(1/2): its exponent field is then e */
    V e = v_to_float((bits >> 23) - (tiny & 23));
    V m = (V)((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    V p = v_splat(7.0376836292e-2f);
    p = v_fma(p, m, v_splat(-1.1514610310e-1f));
    p = v_fma(p, m, v_splat(1.1676998740e-1f));
    p = v_fma(p, m, v_splat(-1.2420140846e-1f));
    p = v_fma(p, m, v_splat(1.4249322787e-1f));
    p = v_fma(p, m, v_splat(-1.6668057665e-1f));
    p = v_fma(p, m, v_splat(2.0000714765e-1f));
    p = v_fma(p, m, v_splat(-2.4999993993e-1f));
    p = v_fma(p, m, v_splat(3.3333331174e-1f));
    V square = m * m;
    V low = v_fma(e, v_splat(-2.12194440e-4f), p * m * square);
    low = v_fma(square, v_splat(-0.5f), low);
    V log = v_fma(e, v_splat(0.693359375f), m + low);
    log = v_select(x == 0.0f, v_splat(-__builtin_inff()), log);
    log = v_select(x < 0.0f, v_splat(__builtin_nanf("")), log);
    return v_select((x != x) | (x == __builtin_inff()), x, log);
}

#endif
