/* SPDX-License-Identifier: MIT
** Problems of attention_case.h with windows, caps, distances, values that are channels of keys. */
#ifndef TESTS_ATTENTION_SHAPED_CASE_H
#define TESTS_ATTENTION_SHAPED_CASE_H

#include "attention_truth.h"

typedef struct Shaping {
    int64_t window, distances;
    float softcap;
    int share;
} Shaping;

typedef struct ShapedProblem {
    Problem p;
    Guarded table, dtable;
} ShapedProblem;

/* One of them alone, several, all. */
static const Shaping shapings[] = {
    { 1, 0, 0, 0 },      { 7, 0, 0, 0 },    { 96, 0, 0, 0 },    { 100, 0, 0, 0 },
    { 1000, 0, 0, 0 },   { 0, 0, 1.5f, 0 }, { 0, 1, 0, 0 },     { 0, 20, 0, 0 },
    { 0, 500, 0, 0 },    { 0, 0, 0, 1 },    { 33, 40, 0, 0 },   { 33, 9, 0.7f, 0 },
    { 130, 131, 30, 1 }, { 64, 0, 2, 1 },   { 0, 17, 1.0f, 1 },
};
enum { SHAPINGS = sizeof shapings / sizeof *shapings };

static inline ShapedProblem shaped_new(Size s, Shaping x, uint64_t seed, Side side) {
    ShapedProblem r = { .p = problem_new(s, seed, side) };
    Draw d = { seed + 1000000 };
    int64_t rows = s.sequences * s.time, columns = s.heads * x.distances;
    Attention *a = &r.p.a;
    a->shaped = 1, a->window = x.window, a->softcap = x.softcap, a->share = x.share;
    a->distances = x.distances;
    if (x.share) a->v = a->k, a->ldv = a->ldk;
    if (!x.distances) return r;
    r.table = random_matrix(&d, rows, columns, side);
    r.dtable = nan_matrix(rows, columns, side);
    guard_readonly(r.table);
    a->by_distance = r.table.at, a->ddistance = r.dtable.at;
    a->lddistance = a->ldddistance = columns + GAP;
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

#endif
