/* SPDX-License-Identifier: MIT
** Attention of a few new queries to a cache: decoding, at the speed of memory.
**
** A task is one group of one sequence, or a share of the heads of a large group.  It reads the
** group's keys and values once; each tile of them is used for every query of the task while it is
** in the first-level cache.  A query is a row of its own: products run along the head's width, and
** nothing depends on the other rows.
**
** A long history is cut into pieces, whose results are joined in order.  If there are too few
** tasks for all workers, pieces are tasks, and their results are joined afterwards.  The bits are
** the same, because a piece depends only on the keys that the row sees.
**
** attention_few.c and attention_few_shaped.c combine keys and rows in different ways.
*/
#ifndef STRATA_ATTENTION_FEW_H
#define STRATA_ATTENTION_FEW_H

#include "attention_tile.h"

enum { ROWS_ONCE = 16, ROWS_LEAST = 4, TILE = 64 };
/* A row has at most PIECES, of PIECE_LEAST keys or that times a power of two. */
enum { PIECES = 9, PIECE_LEAST = 256 };

/* What a row found in the keys that it met: the largest score, the sum of powers of two relative to
** it, padded(dv) floats of values. */
typedef struct Found {
    float largest, sum;
    float *o;
} Found;

typedef struct Row {
    float *q; /* padded(dk), scaled */
    Found found;
    float alpha; /* what the last tile leaves of found.o */
    int64_t head, t;
} Row;

INLINE int64_t keys_seen(const Attention *a, const KeySource *s, int64_t t) {
    return min64(s->count, seen_by(a, s, t)) - first_seen(a, s, t);
}

/* The keys of a row's pieces, of which each begins at a multiple of them. */
INLINE int64_t piece_keys(const Attention *a, const KeySource *s, int64_t t) {
    int64_t n = PIECE_LEAST, seen = keys_seen(a, s, t);
    while (n * (PIECES - 1) < seen)
        n *= 2;
    return n;
}

/* The pieces of a row, of n keys each, in which it sees any: first ... end - 1 */
typedef struct KeyPieces {
    int64_t first, end;
} KeyPieces;

INLINE KeyPieces pieces_of(const Attention *a, const KeySource *s, int64_t t, int64_t n) {
    int64_t first = first_seen(a, s, t), seen = keys_seen(a, s, t);
    return seen > 0 ? (KeyPieces){ first / n, (first + seen - 1) / n + 1 } : (KeyPieces){ 0, 0 };
}

/* attention_few.c: the longest pieces of a sequence's rows, and those of that length which any of
** them has. */
typedef struct Cut {
    int64_t keys;
    KeyPieces pieces;
} Cut;
Cut k_attention_cut(const Attention *a, const KeySource *s, int64_t time);

/* How the work is cut into tasks: 'once' rows of a group in each, of which there are 'shares' then,
** and 'parts' of their keys: 1 is all. */
typedef struct FewPlan {
    int64_t once, shares, parts;
} FewPlan;
FewPlan k_attention_few_plan(const Attention *a);

/* Where piece 'piece' of a row, a group's row 'row' of sequence b, is put aside: the floats of
** 'found', LANES that begin with its other members. */
float *k_attention_aside(const Attention *a, int64_t b, int64_t group, int64_t row, int64_t piece);

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
    V largest = v_splat(row->found.largest), sum = v_zero();
    int64_t end = padded(n);
    for (int64_t j = n; j < end; j++)
        s[j] = -__builtin_inff();
    for (int64_t j = 0; j < end; j += LANES)
        largest = v_max(largest, v_load(s + j));
    float before = row->found.largest;
    row->found.largest = v_largest(largest);
    for (int64_t j = 0; j < end; j += LANES) {
        V p = v_exp2(v_load(s + j) - row->found.largest);
        v_store(s + j, factor(a->bf16, p));
        sum += p;
    }
    float alpha = v_exp2(v_splat(before) - row->found.largest)[0];
    row->found.sum = s_fma(row->found.sum, alpha, v_sum(sum));
    return alpha;
}

static Found found_nothing(const Attention *a, float *o) {
    for (int64_t e = 0; e < padded(a->dv); e += LANES)
        v_store(o + e, v_zero());
    return (Found){ -__builtin_inff(), 0, o };
}

/* x becomes what was found in its keys and in those of 'next'. */
static void join(const Attention *a, Found *x, const Found *next) {
    V largest = v_max(v_splat(x->largest), v_splat(next->largest)),
      before = v_exp2(v_splat(x->largest) - largest),
      after = v_exp2(v_splat(next->largest) - largest);
    for (int64_t e = 0; e < padded(a->dv); e += LANES)
        v_store(x->o + e, v_fma(v_load(next->o + e), after, v_load(x->o + e) * before));
    x->largest = largest[0];
    x->sum = s_fma(next->sum, after[0], x->sum * before[0]);
}

/* The results of a row, of which 'any' key was seen. */
static void close_row(const Attention *a, const Found *x, int any, int64_t row, int64_t head) {
    float *o = a->o + row * a->ldo + head * a->dv;
    for (int64_t e = 0; e < a->dv; e++)
        o[e] = any ? x->o[e] * (1.0f / x->sum) : 0;
    if (a->lse)
        a->lse[row * a->ldlse + head] = any ? s_fma(x->largest, LN_2, v_log(v_splat(x->sum))[0])
                                            : NOTHING;
}

/* Keys from ... to - 1 of a source against rows of sequence b, each of which sees some; s[rows]
** [TILE], and room for the keys and values of a tile.  Keys up to 'later' follow. */
static void attend_rows(const Attention *a, const KeySource *source, int64_t b, Row *row,
                        int64_t rows, int64_t from, int64_t to, int64_t later, float *s,
                        float *room);

/* A task: rows first ... of a group of sequence b. */
typedef struct FewWork {
    const Attention *a;
    KeySource source;
    int64_t b, g, first, rows;
    Row row[ROWS_ONCE];
    int64_t keys[ROWS_ONCE]; /* of each row's pieces */
    float *s, *more, *room;  /* scores, floats of values for each row, room for a tile */
    int aside;               /* what is found in a piece is put aside, to be joined later */
} FewWork;

/* Piece 'piece', of n keys, for rows whose pieces have so many. */
static void few_piece(FewWork *w, int64_t n, int64_t piece, int64_t later) {
    const Attention *a = w->a;
    Row row[ROWS_ONCE];
    int64_t of[ROWS_ONCE], count = 0;
    for (int64_t i = 0; i < w->rows; i++) {
        KeyPieces own = pieces_of(a, &w->source, w->row[i].t, n);
        if (w->keys[i] != n || piece < own.first || piece >= own.end) continue;
        float *o = w->row[i].found.o;
        if (w->aside) o = LANES + k_attention_aside(a, w->b, w->g, w->first + i, piece - own.first);
        else if (piece > own.first) o = w->more + i * padded(a->dv);
        row[count] = w->row[i];
        row[count].found = found_nothing(a, o);
        of[count++] = i;
    }
    if (!count) return;
    int64_t end = min64(w->source.count, (piece + 1) * n);
    attend_rows(a, &w->source, w->b, row, count, piece * n, end, later, w->s, w->room);
    for (int64_t j = 0; j < count; j++) {
        Found *all = &w->row[of[j]].found, *x = &row[j].found;
        if (w->aside) x->o[-LANES] = x->largest, x->o[1 - LANES] = x->sum;
        else if (x->o == all->o) *all = *x;
        else join(a, all, x);
    }
}

/* The only piece of all rows. */
static void few_short(FewWork *w, int64_t piece, int64_t n) {
    int64_t end = min64(w->source.count, (piece + 1) * n);
    for (int64_t i = 0; i < w->rows; i++)
        w->row[i].found = found_nothing(w->a, w->row[i].found.o);
    attend_rows(w->a, &w->source, w->b, w->row, w->rows, piece * n, end, end, w->s, w->room);
}

static int any_has(const FewWork *w, int64_t n) {
    for (int64_t i = 0; i < w->rows; i++)
        if (w->keys[i] == n) return 1;
    return 0;
}

/* All keys, or those of 'part'. */
static void few_keys(FewWork *w, int64_t part) {
    Cut cut = k_attention_cut(w->a, &w->source, queries_of(w->a, w->b));
    KeyPieces p = cut.pieces;
    if (!w->aside && p.end - p.first == 1) {
        few_short(w, p.first, cut.keys);
        return;
    }
    for (int64_t i = 0; i < w->rows; i++)
        w->keys[i] = piece_keys(w->a, &w->source, w->row[i].t);
    if (w->aside) p.first = min64(p.end, p.first + part), p.end = min64(p.end, p.first + 1);
    int64_t end = min64(w->source.count, p.end * cut.keys);
    for (int64_t n = PIECE_LEAST, each; n <= cut.keys; n *= 2) {
        each = cut.keys / n;
        for (int64_t i = p.first * each; any_has(w, n) && i < p.end * each; i++)
            few_piece(w, n, i, end);
    }
}

static void few_task(const Attention *a, int64_t task, float *scratch) {
    FewPlan p = k_attention_few_plan(a);
    int64_t part = task % p.parts, share = task / p.parts % p.shares,
            group = task / p.parts / p.shares, shared = a->heads / a->groups;
    FewWork w = { .a = a, .b = group / a->groups, .g = group % a->groups, .aside = p.parts > 1 };
    int64_t time = queries_of(a, w.b);
    w.source = k_attention_source(a, w.b, w.g);
    w.first = share * p.once, w.rows = max64(0, min64(p.once, shared * time - w.first));
    w.s = take(&scratch, ROWS_ONCE * TILE);
    w.more = take(&scratch, ROWS_ONCE * padded(a->dv));
    for (int64_t i = 0; i < w.rows; i++) {
        Row *row = &w.row[i];
        row->head = w.g * shared + (w.first + i) / time, row->t = (w.first + i) % time;
        row->q = take(&scratch, padded(a->dk));
        row->found.o = take(&scratch, padded(a->dv));
        k_rows_load(a->bf16, 1, a->dk,
                    a->q + (query_row(a, w.b) + row->t) * a->ldq + row->head * a->dk, a->ldq,
                    a->scale * LOG2_E, row->q);
    }
    w.room = scratch;
    few_keys(&w, part);
    for (int64_t i = 0; !w.aside && i < w.rows; i++) {
        const Row *row = &w.row[i];
        close_row(a, &row->found, keys_seen(a, &w.source, row->t) > 0, query_row(a, w.b) + row->t,
                  row->head);
    }
}

#endif
