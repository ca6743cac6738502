/* SPDX-License-Identifier: MIT
** Small weights (--weights q8, q4): the rounding of products of a parameter with 'bits'.  The
** steps of a row are cut into groups.  A group of weights is
**   8 bits   s c, |c| <= 127, s the largest magnitude / 127
**   4 bits   m + s c, 0 <= c <= 15, m the smallest, s = (largest - m) / 15
** where s and m are rounded to float16.  A group of the other operand is s c, |c| <= 127, as with
** 8 bits, but s is not rounded. c is the nearest integer, and the even one of two that are equally
** near.
*/
#include "fatal.h"
#include "op.h"

#include <math.h>
#include <string.h>

enum { STEPS = 32 }; /* of a group */

int op_small(const Node *weights) { return weights->op == OP_param ? (int)weights->attr->bits : 0; }

/* Eleven significant bits, fewer below the smallest normal number. */
static double round_f16(double x) {
    int exponent;
    if (!isfinite(x) || x == 0) return x;
    frexp(x, &exponent);
    double unit = ldexp(1, (exponent < -13 ? -13 : exponent) - 11), y = rint(x / unit) * unit;
    return fabs(y) > 65504 ? copysign(INFINITY, x) : y;
}

static double code_of(double x, double scale, double low, double high) {
    return scale == 0 ? fmax(low, 0) : fmin(fmax(rint(x / scale), low), high);
}

static double largest_of(const double *x, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = isnan(x[i]) ? NAN : fmax(most, fabs(x[i]));
    return most;
}

static void ops_small_round_q8(double *w, int64_t n) {
    double scale = round_f16(largest_of(w, n) / 127);
    for (int64_t i = 0; i < n; i++)
        w[i] = scale * code_of(w[i], scale, -127, 127);
}

static void round_q4(double *w, int64_t n) {
    double low = w[0], high = w[0];
    for (int64_t i = 1; i < n; i++) {
        low = fmin(low, w[i]);
        high = fmax(high, w[i]);
    }
    low = round_f16(low);
    double scale = round_f16(fmax(high - low, 0) / 15);
    for (int64_t i = 0; i < n; i++)
        w[i] = low + scale * code_of(w[i] - low, scale, 0, 15);
}

/* Numbers that are nearly none are none. */
static void round_x(double *x, int64_t n) {
    double most = largest_of(x, n), scale = most <= 1e-30 ? 0 : most / 127;
    for (int64_t i = 0; i < n; i++)
        x[i] = scale * code_of(x[i], scale, -127, 127);
}

static void by_groups(int64_t count, int64_t steps, double *x, void (*round)(double *, int64_t)) {
    for (int64_t r = 0; r < count; r++)
        for (int64_t s = 0; s < steps; s += STEPS)
            round(x + r * steps + s, steps - s < STEPS ? steps - s : STEPS);
}

void small_round_kept(int64_t bits, int64_t count, int64_t width, double *x) {
    for (int64_t i = 0; bits == 16 && i < count * width; i++)
        x[i] = round_bf16(x[i]);
    if (bits == 8) by_groups(count, width, x, ops_small_round_q8);
}

void small_round_weights(int bits, int64_t count, int64_t steps, double *w) {
    by_groups(count, steps, w, bits == 8 ? ops_small_round_q8 : round_q4);
}

void small_round_rows(int64_t count, int64_t steps, double *x) {
    by_groups(count, steps, x, round_x);
}

static double *copy_of(const double *from, int64_t count) {
    double *to = checked_new((size_t)count + 1, sizeof *to);
    memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

double *small_weights_of(const EvalStep *s, int operand) {
    const Node *w = s->n->in[operand];
    int64_t count = shape_count(&w->shape), steps = w->shape.dim[w->shape.rank - 1];
    double *own = copy_of(s->in[operand], count);
    small_round_weights(op_small(w), count / steps, steps, own);
    return own;
}

double *small_rows_of(const EvalStep *s, int operand) {
    const Shape *x = &s->n->in[operand]->shape;
    int64_t count = s->tokens * shape_count(x), steps = x->dim[x->rank - 1];
    double *own = copy_of(s->in[operand], count);
    small_round_rows(count / steps, steps, own);
    return own;
}
