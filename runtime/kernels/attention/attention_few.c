/* SPDX-License-Identifier: MIT
** Attention of a few queries to a cache: its scratch, its tasks, what joins
** their results, and those that nothing shapes. */
#include "attention_few.h"

/* s[j] = q . k[j]: four keys at once, each a vector of chains, added in one order. */
static void few_scores(int64_t n, int64_t d, const float *q, const float *k, int64_t ldk,
                       float *s) {
    int64_t whole = d / LANES * LANES, j = 0;
    for (; j + 4 <= n; j += 4, k += 4 * ldk) {
        V acc[4] = { v_zero(), v_zero(), v_zero(), v_zero() };
        for (int64_t e = 0; e < whole; e += LANES)
            for (int i = 0; i < 4; i++)
                acc[i] = v_fma(v_load(q + e), v_load(k + i * ldk + e), acc[i]);
        for (int i = 0; i < 4; i++) {
            if (whole < d)
                acc[i] = v_fma(v_load(q + whole), v_load_part(k + i * ldk + whole, d - whole),
                               acc[i]);
            s[j + i] = v_sum(acc[i]);
        }
    }
    for (; j < n; j++, k += ldk) {
        V acc = v_zero();
        for (int64_t e = 0; e < whole; e += LANES)
            acc = v_fma(v_load(q + e), v_load(k + e), acc);
        if (whole < d) acc = v_fma(v_load(q + whole), v_load_part(k + whole, d - whole), acc);
        s[j] = v_sum(acc);
    }
}

static void attend_rows(const Attention *a, const KeySource *source, int64_t b, Row *row,
                        int64_t rows, int64_t from, int64_t to, int64_t later, float *s,
                        float *room) {
    (void)b;
    for (int64_t first = from; first < to; first += TILE) {
        /* Caches lie in small pages, at whose ends the processor stops to look ahead. */
        int64_t here = min64(TILE, to - first), next = min64(TILE, later - first - here);
        k_rows_soon(next, source->ldk, source->k + (first + here) * source->ldk, source->ldk);
        k_rows_soon(next, source->ldv, source->v + (first + here) * source->ldv, source->ldv);
        NearRows x = k_rows_near(a, source, first, here, room, room + TILE * padded(a->dk));
        for (int64_t i = 0; i < rows; i++) {
            int64_t n = visible(a, source, row[i].t, first, here);
            if (n == 0) continue;
            few_scores(n, a->dk, row[i].q, x.k, x.ldk, s);
            float alpha = few_softmax(a, n, &row[i], s);
            few_mix(n, a->dv, s, x.v, x.ldv, alpha, row[i].found.o);
        }
    }
}

/* Rows, their scores and two sets of values, and a tile of keys and values that a cache keeps
** otherwise. */
int64_t k_attention_few_floats(int64_t d) {
    return ROWS_ONCE * (3 * padded(d) + 32 + TILE) + 32 + 2 * TILE * padded(d);
}

/* == Pieces ================================================================================ */

Cut k_attention_cut(const Attention *a, const KeySource *s, int64_t time) {
    Cut x = { PIECE_LEAST, { 0, 0 } };
    for (int64_t t = 0; t < time; t++)
        x.keys = max64(x.keys, piece_keys(a, s, t));
    for (int64_t t = 0; t < time; t++) {
        KeyPieces own = pieces_of(a, s, t, x.keys);
        if (own.end == own.first) continue;
        if (x.pieces.end) own.first = min64(own.first, x.pieces.first);
        x.pieces = (KeyPieces){ own.first, max64(own.end, x.pieces.end) };
    }
    return x;
}

/* Floats of a piece put aside: a multiple of a vector. */
static int64_t aside_floats(int64_t d) { return LANES + padded(d); }

/* Rows of a group; of sequences that have fewer, room. */
static int64_t rows_in_group(const Attention *a) {
    return (int64_t)(a->heads / a->groups) * a->time;
}

enum { ROWS_ASIDE = 8 }; /* for which a worker has room */

int64_t k_attention_aside_floats(int64_t d) { return ROWS_ASIDE * PIECES * aside_floats(d); }

float *k_attention_aside(const Attention *a, int64_t b, int64_t group, int64_t row, int64_t piece) {
    int64_t floats = aside_floats(a->dv), each = a->aside_floats / floats,
            i = ((b * a->groups + group) * rows_in_group(a) + row) * PIECES + piece;
    return a->aside + i / each * a->ldaside + i % each * floats;
}

/* The most pieces that rows of any sequence have. */
static int64_t most_pieces(const Attention *a) {
    int64_t most = 1;
    for (int64_t b = 0; b < a->sequences; b++) {
        KeySource s = k_attention_source(a, b, 0);
        KeyPieces p = k_attention_cut(a, &s, queries_of(a, b)).pieces;
        most = max64(most, p.end - p.first);
    }
    return most;
}

static int64_t shares_of(const Attention *a, int64_t once) {
    return (rows_in_group(a) + once - 1) / once;
}

enum { EVEN_TASKS = 4 }; /* of a worker: with so many, what is left over is little */

/* Pieces become tasks where workers would wait for others, and there is room for what they find.
** Of shaped problems, which may have one group for all heads, tasks have fewer rows while a worker
** has no task.  Each share of them reads the group's keys, from memory where they are many: so not
** too few. */
FewPlan k_attention_few_plan(const Attention *a) {
    FewPlan p = { ROWS_ONCE, shares_of(a, ROWS_ONCE), 1 };
    int64_t groups = a->sequences * a->groups, tasks = groups * p.shares,
            room = a->aside ? a->workers * (a->aside_floats / aside_floats(a->dv)) : 0;
    if (room && tasks < EVEN_TASKS * a->workers && tasks % a->workers
        && groups * rows_in_group(a) * PIECES <= room)
        p.parts = most_pieces(a);
    while (a->shaped && p.once > ROWS_LEAST && groups * p.shares * p.parts < a->workers)
        p.once /= 2, p.shares = shares_of(a, p.once);
    return p;
}

int64_t k_attention_few_tasks(const Attention *a) {
    FewPlan p = k_attention_few_plan(a);
    return a->sequences * a->groups * p.shares * p.parts;
}

void k_attention_few(const Attention *a, int64_t task, float *scratch) {
    few_task(a, task, scratch);
}

/* A row of a group of sequence b. */
static void join_row(const Attention *a, const KeySource *source, int64_t b, int64_t g,
                     int64_t row) {
    int64_t time = queries_of(a, b), t = row % time;
    KeyPieces p = pieces_of(a, source, t, piece_keys(a, source, t));
    Found all = { 0 };
    for (int64_t i = 0; i < p.end - p.first; i++) {
        float *at = k_attention_aside(a, b, g, row, i);
        Found x = { at[0], at[1], at + LANES };
        if (i) join(a, &all, &x);
        else all = x;
    }
    close_row(a, &all, p.end > p.first, query_row(a, b) + t,
              g * (a->heads / a->groups) + row / time);
}

void k_attention_join(const Attention *a) {
    if (k_attention_few_plan(a).parts == 1) return;
    for (int64_t b = 0; b < a->sequences; b++)
        for (int64_t g = 0; g < a->groups; g++) {
            KeySource source = k_attention_source(a, b, g);
            for (int64_t i = 0; i < (a->heads / a->groups) * queries_of(a, b); i++)
                join_row(a, &source, b, g, i);
        }
}
