/* SPDX-License-Identifier: MIT
** Problems of attention_case.h with windows, caps, distances, values that are channels of keys,
** and their caches. */
#ifndef TESTS_ATTENTION_SHAPED_CASE_H
#define TESTS_ATTENTION_SHAPED_CASE_H

#include "attention_truth.h"

typedef struct Shaping {
    int64_t window, distances;
    float softcap;
    int share;
    int one_table;
} Shaping;

typedef struct ShapedProblem {
    Problem p;
    Guarded table, dtable;
} ShapedProblem;

/* One of them alone, several, all. */
static const Shaping shapings[] = {
    { 1, 0, 0, 0, 0 },      { 7, 0, 0, 0, 0 },    { 96, 0, 0, 0, 0 },    { 100, 0, 0, 0, 0 },
    { 1000, 0, 0, 0, 0 },   { 0, 0, 1.5f, 0, 0 }, { 0, 1, 0, 0, 0 },     { 0, 20, 0, 0, 0 },
    { 0, 500, 0, 0, 0 },    { 0, 0, 0, 1, 0 },    { 33, 40, 0, 0, 0 },   { 33, 9, 0.7f, 0, 0 },
    { 130, 131, 30, 1, 0 }, { 64, 0, 2, 1, 0 },   { 0, 17, 1.0f, 1, 0 }, { 0, 1, 0, 0, 1 },
    { 0, 20, 0, 0, 1 },     { 33, 40, 0, 0, 1 },  { 0, 500, 0, 0, 1 },   { 130, 131, 30, 1, 1 },
};
enum { SHAPINGS = sizeof shapings / sizeof *shapings };

static inline ShapedProblem shaped_new(Size s, Shaping x, uint64_t seed, Side side) {
    ShapedProblem r = { .p = problem_new(s, seed, side) };
    Draw d = { seed + 1000000 };
    int64_t rows = s.sequences * s.time, columns = s.heads * x.distances,
            changes = x.one_table ? s.heads : columns;
    Attention *a = &r.p.a;
    a->shaped = 1, a->window = x.window, a->softcap = x.softcap, a->share = x.share;
    a->distances = x.distances;
    if (x.share) a->v = a->k, a->ldv = a->ldk;
    if (!x.distances) return r;
    r.table = random_matrix(&d, x.one_table ? 1 : rows, columns, side);
    r.dtable = nan_matrix(rows, changes, side);
    guard_readonly(r.table);
    a->by_distance = r.table.at, a->ddistance = r.dtable.at;
    a->one_table = x.one_table;
    a->lddistance = x.one_table ? 0 : columns + GAP, a->ldddistance = changes + GAP;
    return r;
}

static inline void shaped_free(ShapedProblem *r) {
    if (r->p.a.distances) guard_free(r->table), guard_free(r->dtable);
    problem_free(&r->p);
}

static inline Size shaped_size(Size s, Shaping x) {
    s.causal = x.window || x.distances || s.causal;
    if (x.share && s.dv > s.dk) s.dv = s.dk;
    return s;
}

/* Caches of a sequence of 'time' positions; rings where there is a window. */
typedef struct ShapedCache {
    Guarded keys, values;
    float *key, *value;
    int64_t past;
} ShapedCache;

static inline void shaped_cache_open(ShapedCache *c, Attention *a, int64_t time) {
    int64_t ring = a->window - 1 + ATTENTION_FEW;
    a->ring = a->window && ring < time ? ring : 0;
    a->context = a->ring ? a->ring : time;
    int64_t rows = a->groups * a->context, keys = rows * 4 * kept_floats(a->kept, a->dk),
            values = rows * 4 * kept_floats(a->kept, a->dv);
    c->keys = guard_bytes(keys, AFTER);
    c->values = a->share ? (Guarded){ 0 } : guard_bytes(values, AFTER);
    memset(c->keys.at, 0xff, (size_t)keys);
    if (!a->share) memset(c->values.at, 0xff, (size_t)values);
    c->key = c->keys.at, c->value = a->share ? c->keys.at : c->values.at, c->past = 0;
    a->keys = &c->key, a->values = &c->value, a->past = &c->past;
}

static inline void shaped_cache_close(ShapedCache *c, const Attention *a) {
    guard_free(c->keys);
    if (!a->share) guard_free(c->values);
}

/* The next 'count' tokens of 'whole'. */
static inline void shaped_step(Attention *a, const Attention *whole, ShapedCache *c, int64_t count,
                               float *o, Guarded scratch) {
    int64_t t = c->past;
    a->time = count;
    a->q = whole->q + t * a->ldq, a->k = whole->k + t * a->ldk, a->v = whole->v + t * a->ldv;
    if (a->by_distance) a->by_distance = whole->by_distance + t * a->lddistance;
    a->o = o + t * a->ldo;
    if (k_attention_appends_first(a)) k_attention_append(a, 0);
    run_forward(a, scratch);
    if (!k_attention_appends_first(a)) k_attention_append(a, 0);
    c->past += count;
}

#endif
