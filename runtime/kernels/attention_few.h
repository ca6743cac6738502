/* SPDX-License-Identifier: MIT
** Attention of a few new queries to a cache: decoding, at the speed of memory.
**
** A task is one group of one sequence, or of many heads a share of them: its keys
** and values are read once, and each tile of them, while it is in the first-level
** cache, meets every query of the task.  A query is a row of its own: products run along the
** head's width, and nothing depends on the other rows.
**
** attention_few.c and attention_few_shaped.c include this with SHAPED 0 and 1.
*/
#ifndef STRATA_ATTENTION_FEW_H
#define STRATA_ATTENTION_FEW_H

#include "attention_tile.h"

enum { ROWS_ONCE = 16, ROWS_LEAST = 8, TASKS_LEAST = 4, TILE = 64 };
#if SHAPED
/* Of shaped problems: rows that meet a key together, keys and vectors of a value at a time, floats
** of keys that stay near. */
enum { ROWS_TOGETHER = 2, KEYS_ONCE = 4, VECTORS_ONCE = 4, NEAR_FLOATS = 6144 };
#else
enum { ROWS_TOGETHER = 1 };
#endif

typedef struct Row {
    float *q, *o; /* padded(dk), scaled; padded(dv) */
    float largest, sum;
    int64_t head, t, keys; /* keys: how many it has seen */
} Row;

/* Queries of a group that a task takes: of shaped problems, which may have one group for all heads,
** fewer while there are few tasks.  Each share of them reads the group's keys, from memory where
** they are many: so not too few. */
INLINE int64_t few_once(const Attention *a) {
    int64_t once = ROWS_ONCE, all = a->heads / a->groups * a->time;
    while (a->shaped && once > ROWS_LEAST
           && a->sequences * a->groups * ((all + once - 1) / once) < TASKS_LEAST)
        once /= 2;
    return once;
}

INLINE int64_t few_shares(const Attention *a) {
    return (a->heads / a->groups * a->time + few_once(a) - 1) / few_once(a);
}

/* s[j] = q . k[j]: four keys at once, each a vector of chains, added in one order. */
static void few_scores(int64_t n, int64_t d, const float *q, const float *k, float *s) {
    int64_t whole = d / LANES * LANES, j = 0;
    for (; j + 4 <= n; j += 4, k += 4 * d) {
        V acc[4] = { v_zero(), v_zero(), v_zero(), v_zero() };
        for (int64_t e = 0; e < whole; e += LANES)
            for (int i = 0; i < 4; i++)
                acc[i] = v_fma(v_load(q + e), v_load(k + i * d + e), acc[i]);
        for (int i = 0; i < 4; i++) {
            if (whole < d)
                acc[i] = v_fma(v_load(q + whole), v_load_part(k + i * d + whole, d - whole),
                               acc[i]);
            s[j + i] = v_sum(acc[i]);
        }
    }
    for (; j < n; j++, k += d) {
        V acc = v_zero();
        for (int64_t e = 0; e < whole; e += LANES)
            acc = v_fma(v_load(q + e), v_load(k + e), acc);
        if (whole < d) acc = v_fma(v_load(q + whole), v_load_part(k + whole, d - whole), acc);
        s[j] = v_sum(acc);
    }
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

#if SHAPED
/* Keys of a tile: many of wide ones do not stay in the first-level cache while they meet a task's
** queries. */
static int64_t few_keys(const Attention *a) {
    int64_t fit = NEAR_FLOATS / max64(a->dk, a->dv) / LANES * LANES;
    return max64(LANES, min64(TILE, fit));
}

/* Scores of 'count' rows, a constant where inlined, that see the same keys. */
INLINE void scores_of(const int count, int64_t n, int64_t d, const Row *row, const float *k,
                      float *s) {
    int64_t whole = d / LANES * LANES, j = 0;
    for (; j + KEYS_ONCE <= n; j += KEYS_ONCE, k += KEYS_ONCE * d) {
        V acc[ROWS_TOGETHER][KEYS_ONCE];
        UNROLL for (int r = 0; r < count; r++) UNROLL for (int i = 0; i < KEYS_ONCE; i++)
            acc[r][i] = v_zero();
        for (int64_t e = 0; e < whole; e += LANES)
            UNROLL for (int i = 0; i < KEYS_ONCE; i++) {
                V key = v_load(k + i * d + e);
                UNROLL for (int r = 0; r < count; r++)
                    acc[r][i] = v_fma(v_load(row[r].q + e), key, acc[r][i]);
            }
        UNROLL for (int i = 0; i < KEYS_ONCE; i++) {
            V rest = whole < d ? v_load_part(k + i * d + whole, d - whole) : v_zero();
            UNROLL for (int r = 0; r < count; r++) {
                if (whole < d) acc[r][i] = v_fma(v_load(row[r].q + whole), rest, acc[r][i]);
                s[r * TILE + j + i] = v_sum(acc[r][i]);
            }
        }
    }
    UNROLL for (int r = 0; r < count; r++) few_scores(n - j, d, row[r].q, k, s + r * TILE + j);
}

/* The outputs of such rows, rescaled by alpha[row], and their mix of values. */
INLINE void mix_of(const int count, int64_t n, int64_t d, const float *s, const float *v,
                   int64_t ldv, const float *alpha, const Row *row) {
    int64_t e = 0;
    for (; e + VECTORS_ONCE * LANES <= d; e += VECTORS_ONCE * LANES) {
        V acc[ROWS_TOGETHER][VECTORS_ONCE];
        UNROLL for (int r = 0; r < count; r++) UNROLL for (int c = 0; c < VECTORS_ONCE; c++)
            acc[r][c] = v_load(row[r].o + e + c * LANES) * alpha[r];
        for (int64_t j = 0; j < n; j++)
            UNROLL for (int c = 0; c < VECTORS_ONCE; c++) {
                V value = v_load(v + j * ldv + e + c * LANES);
                UNROLL for (int r = 0; r < count; r++)
                    acc[r][c] = v_fma(v_splat(s[r * TILE + j]), value, acc[r][c]);
            }
        UNROLL for (int r = 0; r < count; r++) UNROLL for (int c = 0; c < VECTORS_ONCE; c++)
            v_store(row[r].o + e + c * LANES, acc[r][c]);
    }
    if (e < d)
        UNROLL for (int r = 0; r < count; r++)
            few_mix(n, d - e, s + r * TILE, v + e, ldv, alpha[r], row[r].o + e);
}

/* n keys from 'first' on, those of a tile, against 'count' rows of one token. */
INLINE void few_tile(const int count, const Attention *a, const KeySource *source, int64_t b,
                     Row *row, int64_t first, int64_t n, float *s) {
    int64_t from = max64(0, first_seen(a, source, row->t) - first), at;
    float alpha[ROWS_TOGETHER];
    n = visible(a, source, row->t, first, n) - from;
    if (n <= 0) return;
    at = slot_of(source, first + from);
    scores_of(count, n, a->dk, row, source->k + at * a->dk, s);
    UNROLL for (int r = 0; r < count; r++) {
        Shaped x = { a, source, query_row(a, b), row->t, 1, row[r].head, first + from, n };
        k_shape_row(&x, s + r * TILE);
        alpha[r] = few_softmax(a, n, &row[r], s + r * TILE);
        row[r].keys += n;
    }
    mix_of(count, n, a->dv, s, source->v + at * source->ldv, source->ldv, alpha, row);
}

/* Rows from the first key on that any of them sees; those of one token, heads, lie together. */
static void few_shaped(const Attention *a, const KeySource *source, int64_t b, Row *row,
                       int64_t rows, float *s) {
    int64_t n, begin = source->count, most = few_keys(a);
    for (int64_t i = 0; i < rows; i++)
        begin = min64(begin, first_seen(a, source, row[i].t));
    for (int64_t first = begin / most * most; first < source->count; first += n) {
        n = min64(most, source->count - first);
        if (source->ring) n = min64(n, source->ring - slot_of(source, first));
        int64_t i = 0, next = min64(n, source->count - first - n);
        if (!source->ring) k_rows_soon(next, a->dk, source->k + (first + n) * a->dk, a->dk);
        for (; i + ROWS_TOGETHER <= rows; i += ROWS_TOGETHER) {
            if (row[i].t != row[i + ROWS_TOGETHER - 1].t) break;
            few_tile(ROWS_TOGETHER, a, source, b, row + i, first, n, s);
        }
        for (; i < rows; i++)
            few_tile(1, a, source, b, row + i, first, n, s);
    }
}

#else
static void few_rows(const Attention *a, const KeySource *source, Row *row, int64_t rows,
                     float *s) {
    for (int64_t first = 0; first < source->count; first += TILE) {
        /* Caches lie in small pages, at whose ends the processor stops to look ahead. */
        int64_t next = min64(TILE, source->count - first - TILE);
        k_rows_soon(next, a->dk, source->k + (first + TILE) * a->dk, a->dk);
        k_rows_soon(next, a->dv, source->v + (first + TILE) * a->dv, a->dv);
        for (int64_t i = 0; i < rows; i++) {
            int64_t n = visible(a, source, row[i].t, first, min64(TILE, source->count - first));
            if (n == 0) continue;
            few_scores(n, a->dk, row[i].q, source->k + first * a->dk, s);
            float alpha = few_softmax(a, n, &row[i], s);
            row[i].keys += n;
            few_mix(n, a->dv, s, source->v + first * a->dv, a->dv, alpha, row[i].o);
        }
    }
}
#endif

static void few_task(const Attention *a, int64_t task, float *scratch) {
    int64_t shares = few_shares(a), once = few_once(a), first = task % shares * once,
            b = task / shares / a->groups, g = task / shares % a->groups,
            shared = a->heads / a->groups, time = queries_of(a, b);
    KeySource source = k_attention_source(a, b, g);
    float *s = take(&scratch, ROWS_TOGETHER * TILE);
    int64_t rows = min64(once, shared * time - first);
    Row row[ROWS_ONCE];
    for (int64_t i = 0; i < rows; i++) {
        row[i].head = g * shared + (first + i) / time;
        row[i].t = (first + i) % time;
        open_row(a, &row[i], b, &scratch);
    }
#if SHAPED
    few_shaped(a, &source, b, row, rows, s);
#else
    few_rows(a, &source, row, rows, s);
#endif
    for (int64_t i = 0; i < rows; i++)
        close_row(a, &row[i], b);
}

#endif
