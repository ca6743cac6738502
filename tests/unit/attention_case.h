/*
** Problems for tests of attention, and what is right: plain loops in double.
** Matrices lie between guard pages, operands cannot be written, results and
** scratch are full of NaN before every task.
*/
#ifndef TESTS_ATTENTION_CASE_H
#define TESTS_ATTENTION_CASE_H

#include "kernel_test.h"
#include <math.h>
#include <stdio.h>

typedef struct Size {
    int64_t sequences, time;
    int heads, groups, dk, dv, causal;
} Size;

/* Everything one call needs; rows of every matrix lie a few floats further
** apart than they are long. */
typedef struct Problem {
    Attention a;
    Guarded q, k, v, o, lse, dout, dq, dk, dv, scratch;
} Problem;

enum { GAP = 3 };

static inline Guarded random_matrix(Draw *d, int64_t rows, int64_t columns, Side side)
{
    Guarded g = guard_matrix(rows, columns, columns + GAP, side);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            g.at[i * (columns + GAP) + j] = draw_real(d);
    return g;
}

static inline Guarded nan_matrix(int64_t rows, int64_t columns, Side side)
{
    Guarded g = guard_matrix(rows, columns, columns + GAP, side);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            g.at[i * (columns + GAP) + j] = NAN;
    return g;
}

static inline Problem problem_new(Size s, uint64_t seed, Side side)
{
    Draw d = {seed};
    int64_t rows = s.sequences * s.time, hk = (int64_t)s.heads * s.dk, hv = (int64_t)s.heads * s.dv;
    int64_t gk = (int64_t)s.groups * s.dk, gv = (int64_t)s.groups * s.dv;
    Problem p = {.q = random_matrix(&d, rows, hk, side), .k = random_matrix(&d, rows, gk, side),
                 .v = random_matrix(&d, rows, gv, side), .dout = random_matrix(&d, rows, hv, side),
                 .o = nan_matrix(rows, hv, side), .lse = nan_matrix(rows, s.heads, side),
                 .dq = nan_matrix(rows, hk, side), .dk = nan_matrix(rows, gk, side),
                 .dv = nan_matrix(rows, gv, side),
                 .scratch = guard_bytes(k_attention_scratch(s.dk > s.dv ? s.dk : s.dv), AFTER)};
    guard_readonly(p.q), guard_readonly(p.k), guard_readonly(p.v), guard_readonly(p.dout);
    p.a = (Attention){.sequences = s.sequences, .time = s.time, .heads = s.heads, .groups = s.groups, .dk = s.dk,
                      .dv = s.dv, .causal = s.causal, .scale = 1.7f / sqrtf((float)s.dk), .q = p.q.at, .k = p.k.at,
                      .v = p.v.at, .ldq = hk + GAP, .ldk = gk + GAP, .ldv = gv + GAP, .o = p.o.at, .lse = p.lse.at,
                      .ldo = hv + GAP, .ldlse = s.heads + GAP, .dout = p.dout.at, .lddout = hv + GAP,
                      .dq = p.dq.at, .dk_ = p.dk.at, .dvalue = p.dv.at, .lddq = hk + GAP, .lddk = gk + GAP,
                      .lddv = gv + GAP};
    return p;
}

static inline void problem_free(Problem *p)
{
    guard_free(p->q), guard_free(p->k), guard_free(p->v), guard_free(p->o), guard_free(p->lse);
    guard_free(p->dout), guard_free(p->dq), guard_free(p->dk), guard_free(p->dv), guard_free(p->scratch);
}

/* The last task first, and nothing usable left in scratch. */
static inline void run_forward(const Attention *a, Guarded scratch)
{
    int64_t bytes = k_attention_scratch(a->dk > a->dv ? a->dk : a->dv);
    for (int64_t i = k_attention_tasks(a) - 1; i >= 0; i--) {
        memset(scratch.at, 0xff, (size_t)bytes);
        k_attention(a, i, scratch.at);
    }
}

static inline void run_backward(const Attention *a, Guarded scratch)
{
    int64_t bytes = k_attention_scratch(a->dk > a->dv ? a->dk : a->dv);
    for (int64_t i = k_attention_grad_tasks(a) - 1; i >= 0; i--) {
        memset(scratch.at, 0xff, (size_t)bytes);
        k_attention_grad(a, i, scratch.at);
    }
}

/* Position j's key and value of the query head, cached or not. */
static const float *key_of(const Attention *a, int64_t b, int64_t j, int head)
{
    int64_t g = head / (a->heads / a->groups);
    return a->keys ? a->keys[b] + (g * a->context + j) * a->dk : a->k + (b * a->time + j) * a->ldk + g * a->dk;
}

static const float *value_of(const Attention *a, int64_t b, int64_t j, int head)
{
    int64_t g = head / (a->heads / a->groups);
    return a->keys ? a->values[b] + (g * a->context + j) * a->dv : a->v + (b * a->time + j) * a->ldv + g * a->dv;
}

/* p[j] of one query over the keys it sees; returns how many, *lse follows. */
static inline int64_t probabilities(const Attention *a, int64_t b, int64_t t, int head, double *p, double *lse)
{
    int64_t past = a->keys ? a->past[b] : 0, n = a->causal ? past + t + 1 : past + a->time;
    const float *q = a->q + (b * a->time + t) * a->ldq + head * a->dk;
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        const float *k = key_of(a, b, j, head);
        p[j] = 0;
        for (int e = 0; e < a->dk; e++)
            p[j] += (double)q[e] * k[e];
        p[j] *= a->scale;
        largest = fmax(largest, p[j]);
    }
    for (int64_t j = 0; j < n; j++)
        sum += p[j] = exp(p[j] - largest);
    for (int64_t j = 0; j < n; j++)
        p[j] /= sum;
    *lse = largest + log(sum);
    return n;
}

/* The worst distance of o and lse from the truth. */
static inline double forward_error(const Attention *a)
{
    int64_t most = a->time;
    for (int64_t b = 0; a->keys && b < a->sequences; b++)
        most = a->past[b] + a->time > most ? a->past[b] + a->time : most;
    double *p = malloc((size_t)most * sizeof *p), worst = 0, lse;
    for (int64_t row = 0; row < a->sequences * a->time; row++)
        for (int head = 0; head < a->heads; head++) {
            int64_t b = row / a->time, n = probabilities(a, b, row % a->time, head, p, &lse);
            for (int e = 0; e < a->dv; e++) {
                double o = 0;
                for (int64_t j = 0; j < n; j++)
                    o += p[j] * value_of(a, b, j, head)[e];
                worst = fmax(worst, fabs(o - a->o[row * a->ldo + head * a->dv + e]));
                assert_false(isnan(a->o[row * a->ldo + head * a->dv + e]));
            }
            if (a->lse) {
                worst = fmax(worst, fabs(lse - a->lse[row * a->ldlse + head]) / (1 + fabs(lse)));
                assert_false(isnan(a->lse[row * a->ldlse + head]));
            }
        }
    free(p);
    return worst;
}

typedef struct Gradients { double *q, *k, *v; } Gradients; /* [rows][heads or groups * size] */

/* Adds what query (b, t, head) contributes. */
static inline void add_gradients(const Attention *a, int64_t b, int64_t t, int head, double *p, Gradients *d)
{
    double lse, delta = 0;
    int64_t n = probabilities(a, b, t, head, p, &lse), row = b * a->time + t, g = head / (a->heads / a->groups);
    const float *dout = a->dout + row * a->lddout + head * a->dv, *q = a->q + row * a->ldq + head * a->dk;
    double *dp = malloc((size_t)n * sizeof *dp);
    for (int64_t j = 0; j < n; j++) {
        dp[j] = 0;
        for (int e = 0; e < a->dv; e++)
            dp[j] += dout[e] * (double)value_of(a, b, j, head)[e];
        delta += p[j] * dp[j];
    }
    for (int64_t j = 0; j < n; j++) {
        double ds = a->scale * p[j] * (dp[j] - delta);
        const float *k = key_of(a, b, j, head);
        for (int e = 0; e < a->dv; e++)
            d->v[((b * a->time + j) * a->groups + g) * a->dv + e] += p[j] * dout[e];
        for (int e = 0; e < a->dk; e++) {
            d->k[((b * a->time + j) * a->groups + g) * a->dk + e] += ds * q[e];
            d->q[(row * a->heads + head) * a->dk + e] += ds * k[e];
        }
    }
    free(dp);
}

/* The worst distance of a gradient from the truth, relative to the largest. */
static inline double relative(const char *name, int64_t rows, int64_t columns, const double *right,
                              const float *got, int64_t ld)
{
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            if (isnan(got[i * ld + j]))
                fail_msg("%s[%lld][%lld] is NaN", name, (long long)i, (long long)j);
            worst = fmax(worst, fabs(right[i * columns + j] - got[i * ld + j]));
            largest = fmax(largest, fabs(right[i * columns + j]));
        }
    return worst / fmax(largest, 0.1);
}

static inline double backward_error(const Attention *a)
{
    int64_t rows = a->sequences * a->time;
    Gradients d = {calloc((size_t)(rows * a->heads * a->dk), 8), calloc((size_t)(rows * a->groups * a->dk), 8),
                   calloc((size_t)(rows * a->groups * a->dv), 8)};
    double *p = malloc((size_t)a->time * sizeof *p);
    for (int64_t row = 0; row < rows; row++)
        for (int head = 0; head < a->heads; head++)
            add_gradients(a, row / a->time, row % a->time, head, p, &d);
    double worst = relative("dq", rows, a->heads * a->dk, d.q, a->dq, a->lddq);
    worst = fmax(worst, relative("dk", rows, a->groups * a->dk, d.k, a->dk_, a->lddk));
    worst = fmax(worst, relative("dv", rows, a->groups * a->dv, d.v, a->dvalue, a->lddv));
    free(d.q), free(d.k), free(d.v), free(p);
    return worst;
}

static inline void same_rows(int64_t rows, int64_t columns, const float *x, int64_t ldx, const float *y, int64_t ldy)
{
    for (int64_t i = 0; i < rows; i++)
        assert_memory_equal(x + i * ldx, y + i * ldy, (size_t)columns * sizeof *x);
}

/* Results of the sequence that 'one' is, and of sequence b of 'all': same bits. */
static inline void same_sequence(const Attention *all, int64_t b, const Attention *one)
{
    int64_t at = b * all->time, n = all->time;
    same_rows(n, all->heads * all->dv, all->o + at * all->ldo, all->ldo, one->o, one->ldo);
    same_rows(n, all->heads, all->lse + at * all->ldlse, all->ldlse, one->lse, one->ldlse);
    if (all->keys)
        return;
    same_rows(n, all->heads * all->dk, all->dq + at * all->lddq, all->lddq, one->dq, one->lddq);
    same_rows(n, all->groups * all->dk, all->dk_ + at * all->lddk, all->lddk, one->dk_, one->lddk);
    same_rows(n, all->groups * all->dv, all->dvalue + at * all->lddv, all->lddv, one->dvalue, one->lddv);
}

static inline void alone(Attention *a, const Attention *all, int64_t b)
{
    int64_t at = b * all->time;
    a->sequences = 1;
    a->q = all->q + at * all->ldq;
    a->k = all->k + at * all->ldk;
    a->v = all->v + at * all->ldv;
    a->dout = all->dout + at * all->lddout;
}

#endif
