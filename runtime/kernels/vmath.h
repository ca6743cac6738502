/* SPDX-License-Identifier: MIT
** Elementary functions of vectors beyond those of vector.h: tanh, erf, sigmoid
** and cheap powers, all in plain vector arithmetic, no tables.
**
** But for the powers each is within 2.5 units in the last place of the true
** value over its whole range, NaN goes through, and the ends are exact (tanh and
** erf reach 1, sigmoid 0 and 1).  Polynomials are minimax fits of relative error.
*/
#ifndef STRATA_VMATH_H
#define STRATA_VMATH_H

#include "vector.h"

#define LOG2_E 1.44269504088896341f
#define LN_2 0.693147180559945309f

/* x with the sign of 'sign'; x must not be negative. */
INLINE V v_with_sign(V x, V sign) { return (V)((VI)x | ((VI)sign & (VI)v_splat(-0.0f))); }

/* 2^x for x from -1/2 to 1/2, five multiply-adds. */
INLINE V v_power_near(V x) {
    V p = v_splat(1.326472753e-03f);
    p = v_fma(p, x, v_splat(9.671512627e-03f));
    p = v_fma(p, x, v_splat(5.550733742e-02f));
    p = v_fma(p, x, v_splat(2.402224209e-01f));
    p = v_fma(p, x, v_splat(6.931469776e-01f));
    return v_fma(p, x, v_splat(1.0f));
}

/* 2^x for x up to 127: for attention's softmax, where x <= 0.  Below the normal range the result is
** smaller than 2^-126; at -127 and below, exactly 0.  Of a NaN it is any number. */
INLINE V v_exp2(V x) {
    const V magic = v_splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    x = v_max(v_splat(-127.0f), x);
    V shifted = x + magic;
    V p = v_power_near(x - (shifted - magic));
    return (V)((VI)p + ((VI)shifted << 23));
}

/* e^x for x up to 0, 1 above, in half the time of v_exp: the weight of a softmax, which is the less
** wrong the more it weighs.  Within 1.9 (1 + |x|) units in the last place where that is a normal
** number, exactly 1 at 0 and 0 from -88.1 down. */
INLINE V v_exp_weight(V x) {
    const V magic = v_splat(12582912.0f);
    x = v_max(v_splat(-127.0f), v_min(v_splat(0.0f), x * v_splat(LOG2_E)));
    V shifted = x + magic;
    V p = v_power_near(x - (shifted - magic));
    return p * (V)(((VI)shifted << 23) + (EXPONENT_BIAS << 23)); /* a product keeps NaN */
}

INLINE V v_tanh(V x) {
    V square = x * x;
    V p = v_splat(-5.704986962e-03f);
    p = v_fma(p, square, v_splat(2.063908718e-02f));
    p = v_fma(p, square, v_splat(-5.373971505e-02f));
    p = v_fma(p, square, v_splat(1.333144220e-01f));
    p = v_fma(p, square, v_splat(-3.333328194e-01f));
    V near = v_fma(p * square, x, x);
    V size = v_abs(x);
    V far = 1.0f - 2.0f / (v_exp_below(v_min(v_splat(40.0f), size + size)) + 1.0f);
    return v_with_sign(v_abs(v_select(size < 0.625f, near, far)), x); /* so that -0 stays -0 */
}

/* Near 0 a polynomial of erf(x) / x, else 1 - exp(-x Q(x)). */
INLINE V v_erf(V x) {
    V square = x * x;
    V p = v_splat(-5.953741867e-04f);
    p = v_fma(p, square, v_splat(4.985940639e-03f));
    p = v_fma(p, square, v_splat(-2.676171990e-02f));
    p = v_fma(p, square, v_splat(1.128168254e-01f));
    p = v_fma(p, square, v_splat(-3.761248110e-01f));
    p = v_fma(p, square, v_splat(1.283791477e-01f));
    V near = v_fma(p, x, x);
    V size = v_abs(x);
    V t = v_min(v_splat(3.95f), size); /* beyond it the result is 1 */
    V q = v_splat(-2.136449853e-04f);
    q = v_fma(q, t, v_splat(3.212144553e-03f));
    q = v_fma(q, t, v_splat(-2.288091794e-02f));
    q = v_fma(q, t, v_splat(1.052476757e-01f));
    q = v_fma(q, t, v_splat(6.357291192e-01f));
    q = v_fma(q, t, v_splat(1.128511149e+00f));
    V far = 1.0f - v_exp_below(-t * q);
    return v_select(size < 0.93f, near, v_with_sign(far, x));
}

/* 1 / (1 + e^-x), 0 where that is no normal number.  Where the processor has
** such an instruction, the reciprocal is an estimate of 14 bits that one step of Newton's makes 28
** of: 4 cycles a vector, where dividing takes 16.  Of what is below ln 2^-126, where the
** denominator is no longer one it takes, the last multiply-add makes 0. */
INLINE V v_sigmoid(V x) {
#ifdef SIMD_RECIPROCAL
    VSome normal = v_from(x, -87.33654f);
    ExpParts e = v_exp_parts(-v_min(v_splat(87.0f), x), EXPONENT_BIAS);
    V b = v_fma(e.power, (V)((VI)e.shifted << 23), v_splat(1.0f));
    V y = v_reciprocal(b), lacks = v_fma(-b, y, v_splat(1.0f));
    return v_fma_some(normal, lacks, y, y);
#else
    x = v_min(v_splat(87.0f), v_max(v_splat(-89.0f), x));
    ExpParts e = v_exp_parts(-x, EXPONENT_BIAS);
    return v_splat(1.0f) / (1.0f + e.power * (V)((VI)e.shifted << 23));
#endif
}

#endif
