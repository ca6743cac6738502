/* SPDX-License-Identifier: MIT
** A program that calls OpenBLAS contains generated kernels for all products too.  This runs its
** steps with one, with the other and as built, in turns, so that disturbances of the machine
** affect all three.  For single products it measures the time of the threads themselves.
*/
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "blas_environment.h"

static const struct {
    const char *key;
    uint32_t flag;
} ways[WAYS] = {
    [WAY_BUILT] = { "built", 0 },
    [WAY_GENERATED] = { "generated", STRATA_NO_BLAS },
    [WAY_OPENBLAS] = { "openblas", STRATA_ALL_BLAS },
};

static bool is_compared(const Bench *b) {
    return b->mode != BENCH_OF_DECODE && program_calls_blas(b->p)
        && strcmp(option(b->p, OPTION_BENCH_BLAS)->text, "built") != 0;
}

/* == Measuring ============================================================ */

/* A control block of its own; 'profile' NULL: kernels are not timed. */
static int open_way(const Bench *b, BenchWay way, Profile *profile, Region *ctx, Error *e) {
    Session s = b->s;
    s.setup.flags |= ways[way].flag;
    return session_profile(&s, ctx, profile ? profile_hook : NULL, profile, e);
}

static int take_turns(Bench *b, Region *ctx, double *seconds, Error *e) {
    int status = STATUS_OK;
    int64_t step = 0;
    for (int w = 0; !status && w < WAYS; w++)
        status = open_way(b, (BenchWay)w, NULL, &ctx[w], e);
    for (int64_t i = -1; !status && i < b->steps; i++) /* the first of each warms up */
        for (int w = 0; !status && w < WAYS; w++)
            status = bench_step(b, ctx[w].at, ++step, i < 0 ? NULL : &seconds[w * b->steps + i], e);
    for (int w = 0; w < WAYS; w++)
        region_close(&ctx[w]);
    return status;
}

static int profile_way(Bench *b, BenchWay way, Error *e) {
    Profile *p = &b->ways.profile[way];
    Region ctx = { 0 };
    int status = profile_open(p, b->s.m, b->s.workers, e);
    p->processor = true; /* products wait for nothing */
    if (!status) status = open_way(b, way, p, &ctx, e);
    for (int i = 0; !status && i < BENCH_PROFILED; i++)
        status = bench_step(b, ctx.at, i + 1, NULL, e);
    region_close(&ctx);
    return status;
}

int bench_ways(Bench *b, Error *e) {
    if (!is_compared(b)) return STATUS_OK;
    size_t n = (size_t)(WAYS * b->steps);
    double *seconds = calloc(n, sizeof *seconds);
    if (!seconds) return error_memory(e, "steps", n * sizeof *seconds);
    Region ctx[WAYS] = { 0 };
    int status = take_turns(b, ctx, seconds, e);
    for (int w = 0; !status && w < WAYS; w++)
        b->ways.median[w] = bench_median(seconds + w * b->steps, b->steps);
    free(seconds);
    for (int w = WAY_BUILT + 1; !status && w < WAYS; w++)
        status = profile_way(b, (BenchWay)w, e);
    return status;
}

void bench_ways_close(Bench *b) {
    for (int w = 0; w < WAYS; w++)
        profile_close(&b->ways.profile[w]);
}

/* == Telling ============================================================== */

static double seconds_of(const Bench *b, BenchWay way, int32_t kernel) {
    return profile_seconds(&b->ways.profile[way], kernel) / BENCH_PROFILED;
}

static bool has_two(const Bench *b, const strata_kernel *k) {
    return b->ways.median[WAY_BUILT] > 0 && k->blas
        && (b->mode == BENCH_OF_TRAIN ? k->training.calls : k->forward.calls);
}

static void kernel_line(const Bench *b, int32_t i, Text *t) {
    const strata_kernel *k = &strata_kernels(b->s.m)[i];
    double gflop = 1e-9 * bench_cost(b, k).flops;
    text_add(t, "%-40s", strata_string(b->s.m, k->name));
    for (int w = WAY_GENERATED; w < WAYS; w++) {
        double seconds = seconds_of(b, (BenchWay)w, i);
        text_add(t, " %10.3f %9.1f", 1e3 * seconds, seconds > 0 ? gflop / seconds : 0);
    }
    text_add(t, "  %s\n", k->blas & STRATA_BLAS_DOES ? "OpenBLAS" : "generated");
}

void bench_ways_text(const Bench *b, Text *t) {
    char set[256];
    if (!is_compared(b)) return;
    text_add(t, "\n%-40s %20s %20s\n%-40s %10s %9s %10s %9s  built\n",
             "products, threads' own time", "generated", "OpenBLAS", "", "ms", "GFLOP/s", "ms",
             "GFLOP/s");
    for (int32_t i = 0; i < b->s.m->kernels; i++)
        if (has_two(b, &strata_kernels(b->s.m)[i])) kernel_line(b, i, t);
    text_add(t, "%-40s", "tokens_per_second");
    for (int w = WAY_GENERATED; w < WAYS; w++)
        text_add(t, " %20.1f", bench_tokens(b) / b->ways.median[w]);
    text_add(t, "  %.1f\n", bench_tokens(b) / b->ways.median[WAY_BUILT]);
    if (*blas_environment(set, sizeof set))
        text_add(t, "OpenBLAS is another one than it would be: the environment has %s\n", set);
}

void bench_ways_json(const Bench *b, Text *t) {
    char set[256];
    if (!is_compared(b)) return;
    text_add(t, ", \"openblas_environment\": ");
    text_json_string(t, blas_environment(set, sizeof set));
    text_add(t, ", \"products\": {");
    for (int w = 0; w < WAYS; w++) {
        text_add(t, "%s\"%s\": {\"seconds\": ", w ? ", " : "", ways[w].key);
        text_json_number(t, b->ways.median[w]);
        text_add(t, ", \"tokens_per_second\": ");
        text_json_number(t, bench_tokens(b) / b->ways.median[w]);
        text_add(t, "}");
    }
    text_add(t, "}");
}

void bench_ways_kernel(const Bench *b, int32_t kernel, Text *t) {
    const strata_kernel *k = &strata_kernels(b->s.m)[kernel];
    if (!has_two(b, k)) return;
    for (int w = WAY_GENERATED; w < WAYS; w++) {
        text_add(t, ", \"seconds_%s\": ", ways[w].key);
        text_json_number(t, seconds_of(b, (BenchWay)w, kernel));
    }
    text_add(t, ", \"openblas\": %s", k->blas & STRATA_BLAS_DOES ? "true" : "false");
}
