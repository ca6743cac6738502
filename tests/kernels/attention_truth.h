/* SPDX-License-Identifier: MIT
** What is right for a problem of attention_case.h, plain loops in double, and how far from it
** the kernels' results are.
*/
#ifndef TESTS_ATTENTION_TRUTH_H
#define TESTS_ATTENTION_TRUTH_H

#include "attention_case.h"
#include "f16.h"
#include "kept_rows.h"

/* Positions *first..*end-1 of a sequence are averaged to its j-th key. */
static inline void averaged(const Attention *a, int64_t j, int64_t *first, int64_t *end) {
    if (!a->pool) *first = j, *end = j + 1;
    else if (a->causal) *first = j * a->pool, *end = (j + 1) * a->pool;
    else *first = j * a->time / a->pool, *end = ((j + 1) * a->time + a->pool - 1) / a->pool;
}

/* What a product takes of x: bfloat16 if the problem says so. */
static inline double factor_of(const Attention *a, double x) {
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &bits, sizeof f);
    return a->bf16 ? f : x;
}

/* Number e of a row of d that a cache keeps. */
static inline double kept_value(int kept, int64_t d, const float *row, int64_t e) {
    const uint16_t *half = (const uint16_t *)(const void *)row;
    uint32_t bits = (uint32_t)half[e / (kept == KEPT_Q8 ? KEPT_GROUP : 1)] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    if (kept == KEPT_F32) return row[e];
    if (kept == KEPT_BF16) return x;
    return (double)f16_value((uint16_t)(bits >> 16))
        * ((const int8_t *)(const void *)row)[kept_scales(d) + e];
}

/* Element e of the query head's j-th key or value, as products take it: from a cache,
** which has averages, or from rows. */
static inline double element(const Attention *a, int64_t b, int64_t j, int head, int e, int value) {
    value = value && !a->share;
    int64_t g = head / (a->heads / a->groups), d = value ? a->dv : a->dk,
            ld = value ? a->ldv : a->ldk, first, end;
    const float *rows = value ? a->v : a->k;
    double sum = 0;
    if (a->keys) {
        const float *cache = (value ? a->values : a->keys)[b];
        int64_t row = g * a->context + j;
        return factor_of(a, kept_value(a->kept, d, cache + row * kept_floats(a->kept, d), e));
    }
    averaged(a, j, &first, &end);
    for (int64_t t = first; t < end; t++)
        sum += rows[(b * a->time + t) * ld + g * d + e];
    return factor_of(a, sum / (double)(end - first));
}

static inline int64_t keys_seen(const Attention *a, int64_t b, int64_t t) {
    int64_t past = a->keys ? a->past[b] : 0;
    if (a->causal) return a->pool ? (past + t) / a->pool : past + t + 1;
    return a->pool ? a->pool : past + a->time;
}

static inline int64_t first_key_seen(const Attention *a, int64_t b, int64_t t) {
    int64_t first = (a->keys ? a->past[b] : 0) + t + 1 - a->window;
    return a->window && first > 0 ? first : 0;
}

/* A scaled product becomes a score; *slope: what a cap leaves of its cotangent. */
static inline double shaped_score(const Attention *a, int64_t b, int64_t t, int head, int64_t j,
                                  double s, double *slope) {
    double cap = (double)a->softcap, part = cap > 0 ? tanh(s / cap) : 0;
    int64_t distance = (a->keys ? a->past[b] : 0) + t - j;
    *slope = 1 - part * part;
    if (cap > 0) s = cap * part;
    if (a->by_distance && distance >= 0 && distance < a->distances)
        s += a->by_distance[(b * a->time + t) * a->lddistance + head * a->distances + distance];
    return s;
}

static inline int64_t most_keys(const Attention *a) {
    int64_t most = a->time;
    for (int64_t b = 0; a->keys && b < a->sequences; b++)
        most = a->past[b] + a->time > most ? a->past[b] + a->time : most;
    return most > a->pool ? most : a->pool;
}

/* e^(score - the largest) of one query for the keys it sees, their sum and the log of
** the sum of e^score; returns how many. */
static inline int64_t exponentials(const Attention *a, int64_t b, int64_t t, int head, double *p,
                                   double *total, double *lse) {
    int64_t n = keys_seen(a, b, t), begin = first_key_seen(a, b, t);
    const float *q = a->q + (b * a->time + t) * a->ldq + head * a->dk;
    double largest = -INFINITY, sum = 0, slope;
    for (int64_t j = 0; j < n; j++) {
        p[j] = j < begin ? -INFINITY : 0;
        if (j < begin) continue;
        for (int e = 0; e < a->dk; e++)
            p[j] += factor_of(a, q[e]) * element(a, b, j, head, e, 0);
        p[j] = shaped_score(a, b, t, head, j, a->scale * p[j], &slope);
        largest = fmax(largest, p[j]);
    }
    for (int64_t j = 0; j < n; j++)
        sum += p[j] = exp(p[j] - largest);
    *total = sum;
    *lse = n ? largest + log(sum) : -1e30f;
    return n;
}

static inline int64_t probabilities(const Attention *a, int64_t b, int64_t t, int head, double *p,
                                    double *lse) {
    double total;
    int64_t n = exponentials(a, b, t, head, p, &total, lse);
    for (int64_t j = 0; j < n; j++)
        p[j] /= total;
    return n;
}

/* Distances from the truth: the largest, and the square root of their mean square. */
typedef struct Distance {
    double worst, squares;
    int64_t count;
} Distance;

static inline void add_distance(Distance *d, double right, double got) {
    double x = fabs(right - got);
    assert_false(isnan(got));
    d->worst = fmax(d->worst, x);
    d->squares += x * x;
    d->count++;
}

static inline double typical(Distance d) {
    return sqrt(d.squares / (double)(d.count ? d.count : 1));
}

/* Of o and lse. */
static inline Distance forward_distance(const Attention *a) {
    double *p = malloc((size_t)most_keys(a) * sizeof *p), total, lse;
    Distance d = { 0 };
    for (int64_t row = 0; row < a->sequences * a->time; row++)
        for (int head = 0; head < a->heads; head++) {
            int64_t b = row / a->time, n = exponentials(a, b, row % a->time, head, p, &total, &lse);
            for (int e = 0; e < a->dv; e++) {
                double o = 0;
                for (int64_t j = 0; j < n; j++)
                    o += factor_of(a, p[j]) * element(a, b, j, head, e, 1) / total;
                add_distance(&d, o, a->o[row * a->ldo + head * a->dv + e]);
                assert_true(n || a->o[row * a->ldo + head * a->dv + e] == 0);
            }
            if (a->lse)
                add_distance(&d, lse / (1 + fabs(lse)),
                             a->lse[row * a->ldlse + head] / (1 + fabs(lse)));
        }
    free(p);
    return d;
}

static inline double forward_error(const Attention *a) { return forward_distance(a).worst; }

/* What the cap leaves of the cotangent of a query's product with its j-th key. */
static inline double slope_of(const Attention *a, int64_t b, int64_t t, int head, int64_t j) {
    const float *q = a->q + (b * a->time + t) * a->ldq + head * a->dk;
    double s = 0, slope;
    for (int e = 0; e < a->dk; e++)
        s += factor_of(a, q[e]) * element(a, b, j, head, e, 0);
    shaped_score(a, b, t, head, j, a->scale * s, &slope);
    return slope;
}

typedef struct Gradients {
    double *q, *k, *v, *by_distance;
} Gradients; /* [rows][heads or groups * size, or distances] */

/* A key's cotangent goes to all positions that it is the average of. */
static inline void add_to_rows(const Attention *a, int64_t b, int64_t j, int64_t at, int64_t width,
                               double x, double *rows) {
    int64_t first, end;
    averaged(a, j, &first, &end);
    for (int64_t t = first; t < end; t++)
        rows[(b * a->time + t) * width + at] += x / (double)(end - first);
}

/* Adds what query (b, t, head) contributes. */
static inline void add_gradients(const Problem *problem, int64_t b, int64_t t, int head, double *p,
                                 Gradients *d) {
    const Attention *a = &problem->a;
    double lse, delta = problem->delta.at[(b * a->time + t) * a->lddelta + head];
    int64_t n = probabilities(a, b, t, head, p, &lse), row = b * a->time + t,
            g = head / (a->heads / a->groups);
    const float *dout = a->dout + row * a->lddout + head * a->dv,
                *q = a->q + row * a->ldq + head * a->dk;
    double *dp = malloc((size_t)(n + 1) * sizeof *dp);
    for (int64_t j = 0; j < n; j++) {
        dp[j] = 0;
        for (int e = 0; e < a->dv; e++)
            dp[j] += factor_of(a, dout[e]) * element(a, b, j, head, e, 1);
    }
    for (int64_t j = 0; j < n; j++) {
        double ds = p[j] * (dp[j] - delta);
        if (a->by_distance && t - j < a->distances)
            d->by_distance[a->one_table ? (b * a->time + t - j) * a->heads + head
                                        : (row * a->heads + head) * a->distances + t - j] += ds;
        ds = a->scale * factor_of(a, ds * (a->softcap > 0 ? slope_of(a, b, t, head, j) : 1));
        for (int e = 0; e < a->dv; e++)
            add_to_rows(a, b, j, g * a->dv + e, a->groups * a->dv,
                        factor_of(a, p[j]) * factor_of(a, dout[e]), d->v);
        for (int e = 0; e < a->dk; e++) {
            add_to_rows(a, b, j, g * a->dk + e, a->groups * a->dk, ds * factor_of(a, q[e]), d->k);
            d->q[(row * a->heads + head) * a->dk + e] += ds * element(a, b, j, head, e, 0);
        }
    }
    free(dp);
}

/* Of a gradient, relative to its largest element. */
static inline void add_relative(Distance *d, int64_t rows, int64_t columns, const double *right,
                                const float *got, int64_t ld) {
    double largest = 0.1;
    for (int64_t i = 0; i < rows * columns; i++)
        largest = fmax(largest, fabs(right[i]));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            add_distance(d, right[i * columns + j] / largest, got[i * ld + j] / largest);
}

static inline Distance backward_distance(const Problem *problem) {
    const Attention *a = &problem->a;
    int64_t rows = a->sequences * a->time;
    Gradients d = { calloc((size_t)(rows * a->heads * a->dk), 8),
                    calloc((size_t)(rows * a->groups * a->dk), 8),
                    calloc((size_t)(rows * a->groups * a->dv), 8),
                    calloc((size_t)(rows * a->heads * a->distances + 1), 8) };
    double *p = malloc((size_t)most_keys(a) * sizeof *p);
    for (int64_t row = 0; row < rows; row++)
        for (int head = 0; head < a->heads; head++)
            add_gradients(problem, row / a->time, row % a->time, head, p, &d);
    Distance far = { 0 };
    add_relative(&far, rows, a->heads * a->dk, d.q, a->dq, a->lddq);
    add_relative(&far, rows, a->groups * a->dk, d.k, a->dk_, a->lddk);
    add_relative(&far, rows, a->groups * a->dv, d.v, a->dvalue, a->lddv);
    if (a->by_distance)
        add_relative(&far, rows, a->heads * (a->one_table ? 1 : a->distances), d.by_distance,
                     a->ddistance, a->ldddistance);
    free(d.q), free(d.k), free(d.v), free(d.by_distance), free(p);
    return far;
}

static inline double backward_error(const Problem *problem) {
    return backward_distance(problem).worst;
}

#endif
