/* SPDX-License-Identifier: MIT
** Problems for tests of recurrences, and what is right for them: token by token, in double.
** Matrices lie between guard pages, operands cannot be written, results and scratch are full of
** NaN before every task.
*/
#ifndef TESTS_RECURRENCE_TRUTH_H
#define TESTS_RECURRENCE_TRUTH_H

#include "kernel_test.h"
#include <math.h>
#include <stdio.h>

typedef enum Decay { NONE, BY_HEAD, BY_CHANNEL } Decay;

typedef struct RecurrenceSize {
    int64_t sequences, time;
    int heads, groups, dk, dv, decay, delta;
    float least; /* decays are from it to 0 */
} RecurrenceSize;

enum { Q, K, V, G, B, DO, OPERANDS, O = OPERANDS, DQ, DK, DV, DG, DB, ROOM, MATRICES };

enum { RECURRENCE_GAP = 3 };

typedef struct RecurrenceProblem {
    RecurrenceSize size;
    Recurrence a;
    Guarded at[MATRICES], scratch;
    int64_t columns[MATRICES];
} RecurrenceProblem;

static inline void recurrence_columns(RecurrenceProblem *p) {
    RecurrenceSize s = p->size;
    int64_t keys = (int64_t)s.groups * s.dk, values = (int64_t)s.heads * s.dv,
            decays = s.decay == NONE ? 0 : (int64_t)s.heads * (s.decay == BY_HEAD ? 1 : s.dk),
            betas = s.delta ? s.heads : 0;
    int64_t columns[MATRICES] = { keys,
                                  keys,
                                  values,
                                  decays,
                                  betas,
                                  values,
                                  values,
                                  keys,
                                  keys,
                                  values,
                                  decays,
                                  betas,
                                  s.heads * (((int64_t)s.dk * s.dv + 63) / 64) };
    memcpy(p->columns, columns, sizeof columns);
}

/* Keys of length 1 or less, as delta rules want them; betas in (0,1). */
static inline float recurrence_draw(const RecurrenceProblem *p, int which, Draw *d) {
    float x = draw_real(d);
    switch (which) {
    case Q:
    case K: return x / sqrtf((float)p->size.dk);
    case G: return p->size.least * (x + 1) * (x + 1) * 0.25f;
    case B: return (x + 1) / 2;
    default: return x;
    }
}

static inline void recurrence_set(RecurrenceProblem *p) {
    RecurrenceSize s = p->size;
    Recurrence *a = &p->a;
    *a = (Recurrence){ .sequences = s.sequences,
                       .time = s.time,
                       .heads = s.heads,
                       .groups = s.groups,
                       .dk = s.dk,
                       .dv = s.dv,
                       .by_head = s.decay == BY_HEAD };
    const float **of[] = { &a->q, &a->k, &a->v, &a->decay, &a->beta, &a->dout };
    int64_t *lds[] = { &a->ldq, &a->ldk, &a->ldv, &a->lddecay, &a->ldbeta, &a->lddout };
    float **to[] = { &a->o, &a->dq, &a->dk_, &a->dvalue, &a->ddecay, &a->dbeta, &a->room };
    int64_t *ldt[] = {
        &a->ldo, &a->lddq, &a->lddk, &a->lddv, &a->ldddecay, &a->lddbeta, &a->ldroom
    };
    for (int i = 0; i < MATRICES; i++) {
        if (i < OPERANDS) *of[i] = p->columns[i] ? p->at[i].at : NULL;
        else *to[i - OPERANDS] = p->at[i].at;
        *(i < OPERANDS ? lds[i] : ldt[i - OPERANDS]) = p->columns[i] + RECURRENCE_GAP;
    }
}

static inline RecurrenceProblem recurrence_new(RecurrenceSize s, uint64_t seed, Side side) {
    RecurrenceProblem p = { .size = s };
    Draw d = { seed };
    int64_t rows = s.sequences * s.time;
    recurrence_columns(&p);
    for (int i = 0; i < MATRICES; i++) {
        int64_t columns = p.columns[i], ld = columns + RECURRENCE_GAP;
        p.at[i] = guard_matrix(rows, columns, ld, side);
        for (int64_t k = 0; k < rows * columns; k++)
            p.at[i].at[k / columns * ld + k % columns] = i < OPERANDS ? recurrence_draw(&p, i, &d)
                                                                      : NAN;
        if (i < OPERANDS) guard_readonly(p.at[i]);
    }
    p.scratch = guard_bytes(k_recurrence_scratch(s.dk, s.dv, 1), AFTER);
    recurrence_set(&p);
    return p;
}

static inline void recurrence_free(RecurrenceProblem *p) {
    for (int i = 0; i < MATRICES; i++)
        guard_free(p->at[i]);
    guard_free(p->scratch);
}

/* The last task first, and nothing usable left in scratch. */
static inline void recurrence_forward(const RecurrenceProblem *p) {
    size_t bytes = (size_t)k_recurrence_scratch(p->size.dk, p->size.dv, 1);
    for (int64_t i = k_recurrence_tasks(&p->a); i-- > 0;) {
        memset(p->scratch.at, 0xff, bytes);
        k_recurrence(&p->a, i, p->scratch.at);
    }
}

static inline void recurrence_backward(const RecurrenceProblem *p) {
    size_t bytes = (size_t)k_recurrence_scratch(p->size.dk, p->size.dv, 1);
    for (int64_t i = k_recurrence_grad_tasks(&p->a); i-- > 0;) {
        memset(p->scratch.at, 0xff, bytes);
        k_recurrence_grad(&p->a, i, p->scratch.at);
    }
}

/* == What is right ======================================================== */

/* Everything of a problem in double, rows without gaps. */
typedef struct RecurrenceTruth {
    const RecurrenceProblem *p;
    double *x[MATRICES];
} RecurrenceTruth;

static inline double *truth_row(const RecurrenceTruth *t, int which, int64_t row) {
    return t->x[which] + row * t->p->columns[which];
}

static inline double truth_decay(const RecurrenceTruth *t, int64_t row, int head, int c) {
    const RecurrenceSize *s = &t->p->size;
    if (s->decay == NONE) return 1;
    return exp(truth_row(t, G, row)[s->decay == BY_HEAD ? head : head * s->dk + c]);
}

/* One token: S becomes the state after it, P the decayed one before, error v - P^T k or v. */
static inline void truth_token(const RecurrenceTruth *t, int64_t row, int head, double *S,
                               double *P, double *error) {
    const RecurrenceSize *s = &t->p->size;
    const double *k = truth_row(t, K, row) + head / (s->heads / s->groups) * s->dk,
                 *q = truth_row(t, Q, row) + head / (s->heads / s->groups) * s->dk;
    double beta = s->delta ? truth_row(t, B, row)[head] : 1;
    for (int e = 0; e < s->dv; e++) {
        double *o = truth_row(t, O, row) + head * s->dv + e, sum = 0;
        error[e] = truth_row(t, V, row)[head * s->dv + e];
        for (int c = 0; c < s->dk; c++) {
            P[c * s->dv + e] = S[c * s->dv + e] * truth_decay(t, row, head, c);
            if (s->delta) error[e] -= P[c * s->dv + e] * k[c];
        }
        for (int c = 0; c < s->dk; c++) {
            S[c * s->dv + e] = P[c * s->dv + e] + beta * error[e] * k[c];
            sum += S[c * s->dv + e] * q[c];
        }
        *o = sum;
    }
}

/* dS of the state after the token, S, becomes that of the state before it. */
static inline void truth_token_back(const RecurrenceTruth *t, int64_t row, int head,
                                    const double *S, const double *P, const double *error,
                                    double *dS) {
    const RecurrenceSize *s = &t->p->size;
    int at = head / (s->heads / s->groups) * s->dk;
    const double *k = truth_row(t, K, row) + at, *q = truth_row(t, Q, row) + at;
    double beta = s->delta ? truth_row(t, B, row)[head] : 1;
    for (int e = 0; e < s->dv; e++) {
        double dout = truth_row(t, DO, row)[head * s->dv + e], du = 0;
        for (int c = 0; c < s->dk; c++) {
            truth_row(t, DQ, row)[at + c] += S[c * s->dv + e] * dout;
            dS[c * s->dv + e] += q[c] * dout;
            du += dS[c * s->dv + e] * k[c];
            truth_row(t, DK, row)[at + c] += dS[c * s->dv + e] * beta * error[e];
        }
        truth_row(t, DV, row)[head * s->dv + e] = beta * du;
        if (s->delta) truth_row(t, DB, row)[head] += du * error[e];
        for (int c = 0; c < s->dk; c++) {
            if (s->delta) {
                truth_row(t, DK, row)[at + c] -= P[c * s->dv + e] * beta * du;
                dS[c * s->dv + e] -= k[c] * beta * du;
            }
            if (s->decay != NONE)
                truth_row(t, DG, row)[s->decay == BY_HEAD ? head : head * s->dk + c] +=
                    dS[c * s->dv + e] * P[c * s->dv + e];
            dS[c * s->dv + e] *= truth_decay(t, row, head, c);
        }
    }
}

static inline void truth_head(const RecurrenceTruth *t, int64_t first, int head, int back) {
    const RecurrenceSize *s = &t->p->size;
    size_t size = (size_t)(s->dk * s->dv), time = back ? (size_t)s->time : 0;
    double *S = calloc((time + 1) * size, sizeof *S), *P = calloc(size, sizeof *P),
           *dS = calloc(size, sizeof *dS), *error = calloc((size_t)s->dv, sizeof *error);
    for (int64_t i = 0; i < s->time; i++) {
        double *to = back ? S + (size_t)(i + 1) * size : S;
        if (back) memcpy(to, to - size, size * sizeof *S);
        truth_token(t, first + i, head, to, P, error);
    }
    for (int64_t i = s->time; back && i-- > 0;) {
        memcpy(P, S + (size_t)i * size, size * sizeof *S);
        double *now = calloc(size, sizeof *now);
        memcpy(now, P, size * sizeof *now);
        truth_token(t, first + i, head, now, P, error);
        truth_token_back(t, first + i, head, now, P, error, dS);
        free(now);
    }
    free(S), free(P), free(dS), free(error);
}

static inline RecurrenceTruth recurrence_truth(const RecurrenceProblem *p, int back) {
    RecurrenceTruth t = { .p = p };
    int64_t rows = p->size.sequences * p->size.time;
    for (int i = 0; i < MATRICES; i++) {
        int64_t n = p->columns[i], ld = n + RECURRENCE_GAP;
        t.x[i] = calloc((size_t)(rows * n) + 1, sizeof(double));
        for (int64_t k = 0; i < OPERANDS && k < rows * n; k++)
            t.x[i][k] = p->at[i].at[k / n * ld + k % n];
    }
    for (int64_t b = 0; b < p->size.sequences; b++)
        for (int head = 0; head < p->size.heads; head++)
            truth_head(&t, b * p->size.time, head, back);
    return t;
}

static inline void truth_free(RecurrenceTruth *t) {
    for (int i = 0; i < MATRICES; i++)
        free(t->x[i]);
}

/* The largest distance of a result, relative to its largest element or 0.1. */
static inline double truth_distance(const RecurrenceTruth *t, int which) {
    const RecurrenceProblem *p = t->p;
    int64_t n = p->columns[which], ld = n + RECURRENCE_GAP,
            count = p->size.sequences * p->size.time * n;
    double largest = 0.1, worst = 0;
    for (int64_t i = 0; i < count; i++) {
        float got = p->at[which].at[i / n * ld + i % n];
        largest = fmax(largest, fabs(t->x[which][i]));
        worst = fmax(worst, isnan(got) ? INFINITY : fabs(got - t->x[which][i]));
    }
    return worst / largest;
}

#endif
