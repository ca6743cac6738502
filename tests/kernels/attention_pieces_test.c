/* SPDX-License-Identifier: MIT
** Attention of a few queries to histories of several pieces: right, and of the same bits however
** many tasks share the pieces, beside other rows and sequences or alone.
*/
#include "kernel_test.h"
#include "attention_random_cache.h"

/* Of problems: what shapes them, if anything does. */
typedef struct Kind {
    int64_t pool, window, distances;
    float softcap;
    int causal, share, groups, dk, dv;
} Kind;

static const Kind kinds[] = {
    { 0, 0, 0, 0, 1, 0, 2, 21, 32 },    { 0, 0, 0, 0, 0, 0, 1, 16, 9 },
    { 2, 0, 0, 0, 1, 0, 2, 16, 16 },    { 0, 0, 0, 0, 1, 1, 1, 150, 140 },
    { 0, 700, 0, 0, 1, 0, 2, 16, 24 },  { 0, 0, 900, 1.5f, 1, 0, 1, 8, 40 },
    { 0, 1500, 0, 2, 1, 1, 2, 24, 20 }, { 0, 0, 0, 0, 1, 1, 1, 600, 512 },
};
enum { KINDS = sizeof kinds / sizeof *kinds, HEADS = 4, STEP = 3 };

/* Rows from the first of several pieces on, rows whose pieces are of two lengths, one piece. */
static const int64_t past[] = { 4700, 2046, 100, 1023 };
enum { SEQUENCES = sizeof past / sizeof *past, LONGEST = 4703 };

/* What tasks put aside. */
static Guarded room_open(Attention *a, int workers) {
    a->aside_floats = k_attention_aside_floats(a->dk > a->dv ? a->dk : a->dv);
    Guarded room = nan_matrix(workers, a->aside_floats, AFTER);
    a->workers = workers, a->aside = room.at, a->ldaside = a->aside_floats + GAP;
    return room;
}

/* Nothing was written between the workers' rooms. */
static void room_close(Attention *a, Guarded room) {
    for (int64_t i = 1; i < a->workers; i++)
        for (int64_t j = 1; j <= GAP; j++)
            assert_true(a->aside[i * a->ldaside - j] == 0);
    guard_free(room);
    a->aside = NULL;
}

static Size size_of(Kind k, int64_t sequences) {
    return (Size){ sequences, STEP, HEADS, k.groups, k.dk, k.dv, k.causal, k.pool };
}

static void shape(Attention *a, Kind k, Guarded table) {
    a->shaped = k.window || k.distances || k.softcap > 0 || k.share;
    a->window = k.window, a->softcap = k.softcap, a->share = k.share;
    a->distances = k.distances;
    if (k.distances) a->by_distance = table.at, a->lddistance = HEADS * k.distances + GAP;
}

/* Results of 'a' without what is between rows, into o and lse. */
static void run_into(Attention a, Guarded o, Guarded lse, Guarded scratch) {
    a.o = o.at, a.lse = lse.at;
    run_forward(&a, scratch);
    if (a.aside) k_attention_join(&a);
}

static void same_results(const Attention *a, Guarded o, Guarded lse) {
    same_rows(a->sequences * a->time, a->heads * a->dv, a->o, a->ldo, o.at, a->ldo);
    same_rows(a->sequences * a->time, a->heads, a->lse, a->ldlse, lse.at, a->ldlse);
}

/* With any number of workers; they take parts of the keys where rows are few. */
static void check_workers(Attention a, Guarded scratch) {
    int64_t rows = a.sequences * a.time;
    Guarded o = nan_matrix(rows, a.heads * a.dv, AFTER), lse = nan_matrix(rows, a.heads, AFTER);
    int64_t whole = k_attention_tasks(&a), parts = 0;
    for (int workers = 1; workers <= 40; workers += 1 + workers / 3) {
        Guarded room = room_open(&a, workers);
        parts += k_attention_tasks(&a) >= 3 * whole;
        run_into(a, o, lse, scratch);
        same_results(&a, o, lse);
        room_close(&a, room);
    }
    assert_true(parts > 2);
    guard_free(o), guard_free(lse);
}

/* One sequence, then one token at a time. */
static void check_alone(const Attention *all, int64_t b, Guarded scratch) {
    Attention a = *all;
    int64_t before = a.past[b];
    Guarded o = nan_matrix(STEP, a.heads * a.dv, AFTER), lse = nan_matrix(STEP, a.heads, AFTER);
    a.sequences = 1, a.keys += b, a.values += b, a.past = &before;
    a.q += b * STEP * a.ldq, a.o += b * STEP * a.ldo, a.lse += b * STEP * a.ldlse;
    if (a.by_distance) a.by_distance += b * STEP * a.lddistance;
    run_into(a, o, lse, scratch);
    same_results(&a, o, lse);
    check_workers(a, scratch);
    a.time = 1;
    for (int64_t t = 0; a.causal && t < STEP; t++, before++) {
        run_into(a, o, lse, scratch);
        same_results(&a, o, lse);
        a.q += a.ldq, a.o += a.ldo, a.lse += a.ldlse;
        if (a.by_distance) a.by_distance += a.lddistance;
    }
    guard_free(o), guard_free(lse);
}

static void pieces_are_right(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i < KINDS; i++) {
        Problem p = problem_new(size_of(kinds[i], SEQUENCES), 40 + (uint64_t)i, AFTER);
        Draw d = { 900 + (uint64_t)i };
        Guarded table = { 0 };
        Cache c;
        if (kinds[i].distances)
            table = random_matrix(&d, SEQUENCES * STEP, HEADS * kinds[i].distances, AFTER);
        shape(&p.a, kinds[i], table);
        int64_t filled[SEQUENCES];
        for (int b = 0; b < SEQUENCES; b++)
            filled[b] = past[b] + STEP;
        cache_open(&c, &p.a, LONGEST, filled, &d);
        memcpy(c.past, past, sizeof past);
        if (p.a.share) p.a.values = p.a.keys;
        run_forward(&p.a, p.scratch);
        double error = forward_error(&p.a);
        if (error > 4e-6) fail_msg("kind %d: off by %g", i, error);
        worst = fmax(worst, error);
        for (int64_t b = 0; b < 2; b++)
            check_alone(&p.a, b, p.scratch);
        cache_close(&c, SEQUENCES);
        if (table.at) guard_free(table);
        problem_free(&p);
    }
    printf("worst distance %.2g\n", worst);
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
