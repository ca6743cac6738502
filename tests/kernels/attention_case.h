/* SPDX-License-Identifier: MIT
** Problems for tests of attention; attention_truth.h says what is right.  Matrices lie between
** guard pages, operands cannot be written, results and scratch are full of NaN before every task.
*/
#ifndef TESTS_ATTENTION_CASE_H
#define TESTS_ATTENTION_CASE_H

#include "kernel_test.h"
#include <math.h>
#include <stdio.h>

typedef struct Size {
    int64_t sequences, time;
    int heads, groups, dk, dv, causal, pool;
} Size;

/* Everything one call needs; rows of every matrix lie a few floats further
** apart than they are long. */
typedef struct Problem {
    Attention a;
    Guarded q, k, v, o, lse, dout, dlse, delta, dq, dk, dv, scratch;
} Problem;

enum { GAP = 3 };

static inline Guarded random_matrix(Draw *d, int64_t rows, int64_t columns, Side side) {
    Guarded g = guard_matrix(rows, columns, columns + GAP, side);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            g.at[i * (columns + GAP) + j] = draw_real(d);
    return g;
}

static inline Guarded nan_matrix(int64_t rows, int64_t columns, Side side) {
    Guarded g = guard_matrix(rows, columns, columns + GAP, side);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            g.at[i * (columns + GAP) + j] = NAN;
    return g;
}

static inline Attention problem_call(const Problem *p, Size s) {
    return (Attention){ .sequences = s.sequences,
                        .time = s.time,
                        .heads = s.heads,
                        .groups = s.groups,
                        .dk = s.dk,
                        .dv = s.dv,
                        .causal = s.causal,
                        .pool = s.pool,
                        .scale = 1.7f / sqrtf((float)s.dk),
                        .q = p->q.at,
                        .k = p->k.at,
                        .v = p->v.at,
                        .ldq = s.heads * s.dk + GAP,
                        .ldk = s.groups * s.dk + GAP,
                        .ldv = s.groups * s.dv + GAP,
                        .o = p->o.at,
                        .lse = p->lse.at,
                        .ldo = s.heads * s.dv + GAP,
                        .ldlse = s.heads + GAP,
                        .dout = p->dout.at,
                        .lddout = s.heads * s.dv + GAP,
                        .delta = p->delta.at,
                        .lddelta = s.heads + GAP,
                        .dq = p->dq.at,
                        .dk_ = p->dk.at,
                        .dvalue = p->dv.at,
                        .lddq = s.heads * s.dk + GAP,
                        .lddk = s.groups * s.dk + GAP,
                        .lddv = s.groups * s.dv + GAP,
                        .workers = 4 };
}

static inline Problem problem_new(Size s, uint64_t seed, Side side) {
    Draw d = { seed };
    int64_t rows = s.sequences * s.time, hk = (int64_t)s.heads * s.dk, hv = (int64_t)s.heads * s.dv;
    int64_t gk = (int64_t)s.groups * s.dk, gv = (int64_t)s.groups * s.dv;
    Problem p = { .q = random_matrix(&d, rows, hk, side),
                  .k = random_matrix(&d, rows, gk, side),
                  .v = random_matrix(&d, rows, gv, side),
                  .dout = random_matrix(&d, rows, hv, side),
                  .dlse = random_matrix(&d, rows, s.heads, side),
                  .delta = nan_matrix(rows, s.heads, side),
                  .o = nan_matrix(rows, hv, side),
                  .lse = nan_matrix(rows, s.heads, side),
                  .dq = nan_matrix(rows, hk, side),
                  .dk = nan_matrix(rows, gk, side),
                  .dv = nan_matrix(rows, gv, side),
                  .scratch = guard_bytes(k_attention_scratch(s.dk > s.dv ? s.dk : s.dv), AFTER) };
    guard_readonly(p.q), guard_readonly(p.k), guard_readonly(p.v), guard_readonly(p.dout);
    guard_readonly(p.dlse);
    p.a = problem_call(&p, s);
    return p;
}

static inline void problem_free(Problem *p) {
    guard_free(p->q), guard_free(p->k), guard_free(p->v), guard_free(p->o), guard_free(p->lse);
    guard_free(p->dout), guard_free(p->dlse), guard_free(p->delta), guard_free(p->dq),
        guard_free(p->dk), guard_free(p->dv), guard_free(p->scratch);
}

/* The last task first, and nothing usable left in scratch. */
static inline void run_forward(const Attention *a, Guarded scratch) {
    int64_t bytes = k_attention_scratch(a->dk > a->dv ? a->dk : a->dv);
    for (int64_t i = k_attention_tasks(a) - 1; i >= 0; i--) {
        memset(scratch.at, 0xff, (size_t)bytes);
        k_attention(a, i, scratch.at);
    }
}

/* What row kernels compute for the backward pass: sum of dout * o, less dlse. */
static inline void find_delta(const Problem *p) {
    const Attention *a = &p->a;
    for (int64_t row = 0; row < a->sequences * a->time; row++)
        for (int head = 0; head < a->heads; head++) {
            double delta = -(double)p->dlse.at[row * (a->heads + GAP) + head];
            for (int e = 0; e < a->dv; e++)
                delta += (double)a->dout[row * a->lddout + head * a->dv + e]
                    * a->o[row * a->ldo + head * a->dv + e];
            p->delta.at[row * a->lddelta + head] = (float)delta;
        }
}

static inline void run_backward(const Problem *p) {
    const Attention *a = &p->a;
    Guarded scratch = p->scratch;
    find_delta(p);
    int64_t bytes = k_attention_scratch(a->dk > a->dv ? a->dk : a->dv);
    for (int64_t i = k_attention_grad_tasks(a) - 1; i >= 0; i--) {
        memset(scratch.at, 0xff, (size_t)bytes);
        k_attention_grad(a, i, scratch.at);
    }
}

static inline void same_rows(int64_t rows, int64_t columns, const float *x, int64_t ldx,
                             const float *y, int64_t ldy) {
    for (int64_t i = 0; i < rows; i++)
        assert_memory_equal(x + i * ldx, y + i * ldy, (size_t)columns * sizeof *x);
}

/* Results of the sequence that 'one' is, and of sequence b of 'all': same bits. */
static inline void same_sequence(const Attention *all, int64_t b, const Attention *one) {
    int64_t at = b * all->time, n = all->time;
    same_rows(n, all->heads * all->dv, all->o + at * all->ldo, all->ldo, one->o, one->ldo);
    same_rows(n, all->heads, all->lse + at * all->ldlse, all->ldlse, one->lse, one->ldlse);
    if (all->keys) return;
    same_rows(n, all->heads * all->dk, all->dq + at * all->lddq, all->lddq, one->dq, one->lddq);
    same_rows(n, all->groups * all->dk, all->dk_ + at * all->lddk, all->lddk, one->dk_, one->lddk);
    same_rows(n, all->groups * all->dv, all->dvalue + at * all->lddv, all->lddv, one->dvalue,
              one->lddv);
}

/* Makes p's operands those of one sequence of 'batch'. */
static inline void alone(Problem *p, const Problem *batch, int64_t b) {
    Attention *a = &p->a;
    const Attention *all = &batch->a;
    int64_t at = b * all->time;
    p->dlse.at = batch->dlse.at + at * (all->heads + GAP);
    a->sequences = 1;
    a->q = all->q + at * all->ldq;
    a->k = all->k + at * all->ldk;
    a->v = all->v + at * all->ldv;
    a->dout = all->dout + at * all->lddout;
}

static inline Problem problem_with(int bf16, Size s, uint64_t seed, Side side) {
    Problem p = problem_new(s, seed, side);
    p.a.bf16 = bf16;
    return p;
}

/* Alone, gradients come from other tasks than in a batch: the bits are the same. */
static inline void check_batch(int bf16, Size s, uint64_t seed) {
    Size single = s;
    single.sequences = 1;
    Problem all = problem_with(bf16, s, seed, AFTER);
    run_forward(&all.a, all.scratch);
    run_backward(&all);
    for (int64_t b = 0; b < s.sequences; b++) {
        Problem one = problem_with(bf16, single, 1, AFTER);
        alone(&one, &all, b);
        assert_true(s.pool || k_attention_grad_tasks(&one.a) != k_attention_grad_tasks(&all.a) / 3);
        run_forward(&one.a, one.scratch);
        run_backward(&one);
        same_sequence(&all.a, b, &one.a);
        problem_free(&one);
    }
    problem_free(&all);
}

/* The last one's tasks copy their keys alone, and have too many in a batch. */
static inline void check_batches(int bf16) {
    static const Size sizes[] = {
        { 3, 300, 2, 2, 20, 36, 1, 0 },   { 3, 150, 4, 2, 32, 36, 0, 0 },
        { 3, 150, 6, 2, 44, 36, 1, 0 },   { 3, 150, 8, 2, 56, 36, 1, 4 },
        { 3, 150, 10, 2, 68, 36, 0, 17 }, { 3, 300, 2, 2, 160, 160, 1, 0 },
    };
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++)
        check_batch(bf16, sizes[i], 500 + (uint64_t)i);
}

/* A causal row sees only what is before it, in bits too. */
static inline void check_later_tokens(int bf16) {
    for (int64_t time = 1; time < 400; time = 3 * time + 1) {
        Size s = { 1, 400, 2, 1, 24, 32, 1, time % 2 ? 0 : 6 };
        Problem whole = problem_with(bf16, s, 700, AFTER);
        run_forward(&whole.a, whole.scratch);
        s.time = time;
        Problem start = problem_with(bf16, s, 1, AFTER);
        alone(&start, &whole, 0);
        run_forward(&start.a, start.scratch);
        same_rows(time, s.heads * s.dv, whole.a.o, whole.a.ldo, start.a.o, start.a.ldo);
        problem_free(&start);
        problem_free(&whole);
    }
}

#endif
