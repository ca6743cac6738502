/* SPDX-License-Identifier: MIT
** Attention of a few new queries to a cache: decoding, at the speed of memory.
**
** A task is one group of one sequence, or of many heads a share of them: its keys
** and values are read once, and each tile of them, while it is in the first-level
** cache, meets every query of the task.  A query is a row of its own: products run along the
** head's width, and nothing depends on the other rows.
**
** attention_few.c and attention_few_shaped.c say how keys and rows meet.
*/
#ifndef STRATA_ATTENTION_FEW_H
#define STRATA_ATTENTION_FEW_H

#include "attention_tile.h"

enum { ROWS_ONCE = 16, ROWS_LEAST = 4, TILE = 64 };
typedef struct Row {
    float *q, *o;              /* padded(dk), scaled; padded(dv) */
    float largest, sum, alpha; /* alpha: what the last tile leaves of o */
    int64_t head, t, keys;     /* keys: how many it has seen */
} Row;

/* Queries of a group that a task takes: of shaped problems, which may have one group for all heads,
** fewer while a worker has no task.  Each share of them reads the group's keys, from memory where
** they are many: so not too few. */
INLINE int64_t few_once(const Attention *a) {
    int64_t once = ROWS_ONCE, all = a->heads / a->groups * a->time;
    while (a->shaped && once > ROWS_LEAST
           && a->sequences * a->groups * ((all + once - 1) / once) < a->workers)
        once /= 2;
    return once;
}

INLINE int64_t few_shares(const Attention *a) {
    return (a->heads / a->groups * a->time + few_once(a) - 1) / few_once(a);
}

/* 'count' vectors of o = o * alpha + sum over n keys of s[j] v[j] */
INLINE void mix_columns(const int count, int64_t n, int64_t ldv, const float *s, const float *v,
                        float alpha, float *o) {
    V acc[8];
    for (int c = 0; c < count; c++)
        acc[c] = v_load(o + c * LANES) * alpha;
    for (int64_t j = 0; j < n; j++, v += ldv)
        for (int c = 0; c < count; c++)
            acc[c] = v_fma(v_splat(s[j]), v_load(v + c * LANES), acc[c]);
    for (int c = 0; c < count; c++)
        v_store(o + c * LANES, acc[c]);
}

static void few_mix(int64_t n, int64_t d, const float *s, const float *v, int64_t ldv, float alpha,
                    float *o) {
    int64_t e = 0;
    for (; e + 8 * LANES <= d; e += 8 * LANES)
        mix_columns(8, n, ldv, s, v + e, alpha, o + e);
    for (; e + 4 * LANES <= d; e += 4 * LANES)
        mix_columns(4, n, ldv, s, v + e, alpha, o + e);
    for (; e + LANES <= d; e += LANES)
        mix_columns(1, n, ldv, s, v + e, alpha, o + e);
    if (e < d) {
        V acc = v_load(o + e) * alpha;
        for (int64_t j = 0; j < n; j++)
            acc = v_fma(v_splat(s[j]), v_load_part(v + j * ldv + e, d - e), acc);
        v_store(o + e, acc);
    }
}

/* s[n] become powers of two relative to the new maximum; returns the factor of
** what was added up before.  s has room for whole vectors. */
static float few_softmax(const Attention *a, int64_t n, Row *row, float *s) {
    V largest = v_splat(row->largest), sum = v_zero();
    int64_t end = padded(n);
    for (int64_t j = n; j < end; j++)
        s[j] = -__builtin_inff();
    for (int64_t j = 0; j < end; j += LANES)
        largest = v_max(largest, v_load(s + j));
    float before = row->largest;
    row->largest = v_largest(largest);
    for (int64_t j = 0; j < end; j += LANES) {
        V p = v_exp2(v_load(s + j) - row->largest);
        v_store(s + j, factor(a->bf16, p));
        sum += p;
    }
    float alpha = v_exp2(v_splat(before) - row->largest)[0];
    row->sum = s_fma(row->sum, alpha, v_sum(sum));
    return alpha;
}

static void open_row(const Attention *a, Row *row, int64_t b, float **scratch) {
    row->q = take(scratch, padded(a->dk));
    row->o = take(scratch, padded(a->dv));
    row->largest = -__builtin_inff();
    row->sum = 0;
    row->keys = 0;
    k_rows_load(a->bf16, 1, a->dk, a->q + (query_row(a, b) + row->t) * a->ldq + row->head * a->dk,
                a->ldq, a->scale * LOG2_E, row->q);
    for (int64_t e = 0; e < padded(a->dv); e += LANES)
        v_store(row->o + e, v_zero());
}

static void close_row(const Attention *a, const Row *row, int64_t b) {
    int64_t at = query_row(a, b) + row->t;
    float *o = a->o + at * a->ldo + row->head * a->dv;
    for (int64_t e = 0; e < a->dv; e++)
        o[e] = row->keys ? row->o[e] * (1.0f / row->sum) : 0;
    if (a->lse)
        a->lse[at * a->ldlse + row->head] = row->keys
            ? s_fma(row->largest, LN_2, v_log(v_splat(row->sum))[0])
            : NOTHING;
}

/* All keys of a source against a task's rows of sequence b; s[rows][TILE], and room for the keys
** and values of a tile. */
static void attend_rows(const Attention *a, const KeySource *source, int64_t b, Row *row,
                        int64_t rows, float *s, float *room);

static void few_task(const Attention *a, int64_t task, float *scratch) {
    int64_t shares = few_shares(a), once = few_once(a), first = task % shares * once,
            b = task / shares / a->groups, g = task / shares % a->groups,
            shared = a->heads / a->groups, time = queries_of(a, b);
    KeySource source = k_attention_source(a, b, g);
    float *s = take(&scratch, ROWS_ONCE * TILE);
    int64_t rows = min64(once, shared * time - first);
    Row row[ROWS_ONCE];
    for (int64_t i = 0; i < rows; i++) {
        row[i].head = g * shared + (first + i) / time;
        row[i].t = (first + i) % time;
        open_row(a, &row[i], b, &scratch);
    }
    attend_rows(a, &source, b, row, rows, s, scratch);
    for (int64_t i = 0; i < rows; i++)
        close_row(a, &row[i], b);
}

#endif
