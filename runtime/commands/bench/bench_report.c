/* SPDX-License-Identifier: MIT
** What bench prints: a table for people, or one JSON object.  The limit is the time that the
** measured peak and bandwidth would allow for the work in the kernel table; where weights stay in a
** cache, which gives more than memory, it is passed, and so it is left out.
*/
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rates.h"

static const char *mode_name(BenchMode mode) {
    return mode == BENCH_OF_TRAIN ? "train" : mode == BENCH_OF_PREFILL ? "prefill" : "decode";
}

static double step_flops(const Bench *b) {
    double sum = 0;
    for (int32_t i = 0; i < b->s.m->kernels; i++)
        sum += bench_cost(b, &strata_kernels(b->s.m)[i]).flops;
    return sum;
}

/* The best of all rates (rates.h): a multiply-add is two FLOPs, an operation of a row kernel one
** multiply-add.  What is float32 beside products is done in vectors. */
static double limit_of(const Bench *b, double peak, const char *family, Cost c, double operations) {
    double beside = b->vectors > 0 ? fmin(peak, b->vectors) : peak;
    const Rates best = { .products = peak,
                         .sequences = beside,
                         .rows = beside / 2,
                         .functions = beside / 2,
                         .memory = b->bandwidth };
    bool row = !strcmp(family, "row");
    return rates_seconds(&best, family,
                         (RateWork){ c.flops, row ? operations - c.flops : 0, c.bytes });
}

/* Of row kernels, as flops in cost. */
static double report_operations(const Bench *b, const strata_kernel *k) {
    double share = k->used & STRATA_SOME ? b->share : 1;
    return share * bench_work(b, k)->operations_per_token * bench_tokens(b);
}

/* Bytes of keys and values that a decoded token reads, on average, and of what states carry, which
** it reads and writes. */
static double state_bytes(const Bench *b) {
    const strata_model *m = b->s.m;
    if (b->mode != BENCH_OF_DECODE) return 0;
    double tokens = (double)b->prompt + 0.5 * (double)b->length;
    return (double)b->batch
        * ((double)m->state_per_token * tokens + 2.0 * (double)m->state_carried);
}

static double limit_seconds(const Bench *b, double peak) {
    double sum = limit_of(b, peak, "row", (Cost){ 0, state_bytes(b) }, 0);
    for (int32_t i = 0; i < b->s.m->kernels; i++) {
        const strata_kernel *k = &strata_kernels(b->s.m)[i];
        sum += limit_of(b, peak, strata_string(b->s.m, k->family), bench_cost(b, k),
                        report_operations(b, k));
    }
    return sum;
}

typedef struct KernelLine {
    const char *name, *family;
    int64_t calls;
    double seconds, gflops, gbytes; /* a step; 0: not known */
} KernelLine;

static KernelLine kernel_line(const Bench *b, int32_t i) {
    const strata_kernel *k = &strata_kernels(b->s.m)[i];
    KernelLine l = { strata_string(b->s.m, k->name),
                     strata_string(b->s.m, k->family),
                     bench_work(b, k)->calls,
                     0,
                     0,
                     0 };
    l.seconds = profile_seconds(&b->profile, i) / (double)b->profiled;
    if (l.seconds > 0) {
        Cost c = bench_cost(b, k);
        l.gflops = 1e-9 * c.flops / l.seconds;
        l.gbytes = 1e-9 * c.bytes / l.seconds;
    }
    return l;
}

static void report_number(Text *t, const char *key, double value) {
    text_add(t, ", \"%s\": ", key);
    text_json_number(t, value);
}

static void json_operation(Text *t, const strata_model *m, int32_t i) {
    const strata_kernel *k = &strata_kernels(m)[i];
    text_add(t, ", \"operation\": ");
    text_json_string(t, strata_string(m, k->operation));
    text_add(t, ", \"size\": [");
    for (int32_t s = 0; s < k->sizes; s++)
        text_add(t, "%s%lld", s ? ", " : "", (long long)k->size[s]);
    text_add(t, "]");
}

static void json_kernels(Text *t, const Bench *b) {
    const char *between = "";
    text_add(t, ", \"kernels\": [");
    for (int32_t i = 0; i < b->s.m->kernels; i++) {
        KernelLine l = kernel_line(b, i);
        if (!l.calls) continue;
        text_add(t, "%s{\"name\": ", between);
        text_json_string(t, l.name);
        text_add(t, ", \"family\": ");
        text_json_string(t, l.family);
        json_operation(t, b->s.m, i);
        text_add(t, ", \"calls\": %lld", (long long)l.calls);
        report_number(t, "seconds", l.seconds);
        report_number(t, "gflops", l.gflops);
        report_number(t, "gbytes_per_second", l.gbytes);
        bench_ways_kernel(b, i, t);
        text_add(t, "}");
        between = ", ";
    }
    text_add(t, "]");
}

/* Where products are done at 'peak'. */
static double limit_rate(const Bench *b, double peak) {
    double seconds = limit_seconds(b, peak);
    return seconds > 0 ? bench_tokens(b) / seconds : 0;
}

static int report_json(const Bench *b, Error *e) {
    const strata_model *m = b->s.m;
    Text t = { 0 };
    double gflops = 1e-9 * step_flops(b) / b->median;
    text_add(&t, "{\"mode\": \"%s\", \"spec\": ", mode_name(b->mode));
    text_json_string(&t, strata_string(m, m->name));
    text_add(&t, ", \"precision\": ");
    text_json_string(&t, strata_string(m, m->precision));
    text_add(&t, ", \"cpu\": ");
    text_json_string(&t, strata_string(m, m->cpu));
    text_add(&t, ", \"blas\": ");
    text_json_string(&t, program_blas(b->p));
    text_add(&t, ", \"threads\": %d, \"batch\": %lld, \"length\": %lld, \"steps\": %lld",
             b->s.workers, (long long)b->batch, (long long)b->length, (long long)b->steps);
    report_number(&t, "tokens_per_second", bench_tokens(b) / b->median);
    report_number(&t, "seconds", b->median);
    report_number(&t, "peak_memory_bytes", b->memory);
    report_number(&t, "gflops", gflops);
    report_number(&t, "share_of_peak", gflops / (1e-9 * b->peak));
    report_number(&t, "floor_tokens_per_second", limit_rate(b, b->peak));
    report_number(&t, "floor_meanwhile_tokens_per_second", limit_rate(b, b->meanwhile));
    report_number(&t, "peak_gflops", 1e-9 * b->peak);
    if (b->vectors > 0) {
        report_number(&t, "vector_peak_gflops", 1e-9 * b->vectors);
        report_number(&t, "vector_floor_tokens_per_second", limit_rate(b, b->vectors));
        report_number(&t, "vector_floor_meanwhile_tokens_per_second",
                      limit_rate(b, b->vectors * b->meanwhile / b->peak));
    }
    report_number(&t, "peak_meanwhile_gflops", 1e-9 * b->meanwhile);
    report_number(&t, "bandwidth_gbytes_per_second", 1e-9 * b->bandwidth);
    bench_ways_json(b, &t);
    json_kernels(&t, b);
    text_add(&t, "}\n");
    return console_text(&t, e);
}

static void print_rate(Text *t, double value) {
    if (value > 0) text_add(t, " %9.1f", value);
    else text_add(t, " %9s", "-");
}

/* The longest first. */
static int by_time(const void *a, const void *b) {
    const KernelLine *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void print_kernel(Text *t, const KernelLine *l, double all) {
    text_add(t, "%-40s %-10s %6lld %10.3f %5.1f%%", l->name, l->family, (long long)l->calls,
             1e3 * l->seconds, all > 0 ? 100 * l->seconds / all : 0);
    print_rate(t, l->gflops);
    print_rate(t, l->gbytes);
    text_add(t, "\n");
}

static int print_kernels(Text *t, const Bench *b, Error *e) {
    int32_t n = b->s.m->kernels;
    double all = 0;
    KernelLine *line = calloc((size_t)n + 1, sizeof *line);
    if (!line) return error_memory(e, "kernels", (size_t)n * sizeof *line);
    for (int32_t i = 0; i < n; i++)
        all += (line[i] = kernel_line(b, i)).seconds;
    qsort(line, (size_t)n, sizeof *line, by_time);
    text_add(t, "\n%-40s %-10s %6s %10s %6s %9s %9s\n", "kernel", "family", "calls", "ms per step",
             "share", "GFLOP/s", "GB/s");
    for (int32_t i = 0; i < n; i++)
        if (line[i].calls) print_kernel(t, &line[i], all);
    text_add(t, "%-40s %-10s %6s %10.3f\n", "in kernels, all threads busy", "", "", 1e3 * all);
    free(line);
    return STATUS_OK;
}

static int report_text(const Bench *b, Error *e) {
    const strata_model *m = b->s.m;
    Text t = { 0 };
    char memory[32];
    double flops = step_flops(b) / b->median;
    text_add(&t, "%s, %s, for %s; products: %s\n", strata_string(m, m->name),
             strata_string(m, m->precision), strata_string(m, m->cpu), program_products(b->p));
    text_add(&t, "%s: batch %lld, %lld tokens, %d threads, median of %lld\n", mode_name(b->mode),
             (long long)b->batch, (long long)b->length, b->s.workers, (long long)b->steps);
    text_add(&t, "tokens_per_second  %.1f", bench_tokens(b) / b->median);
    if (limit_rate(b, b->peak) >= bench_tokens(b) / b->median)
        text_add(&t, "  (limit by memory and arithmetic: %.1f)", limit_rate(b, b->peak));
    text_add(&t, "\nseconds            %.6f\npeak_memory        %s\n", b->median,
             human_bytes(memory, b->memory));
    text_add(
        &t,
        "gflops             %.1f, %.1f%% of the machine's %.1f (%.1f between steps); it reads %.1f "
        "GB/s from memory\n",
        1e-9 * flops, 100 * flops / b->peak, 1e-9 * b->peak, 1e-9 * b->meanwhile,
        1e-9 * b->bandwidth);
    if (b->vectors > 0)
        text_add(&t,
                 "in tiles           six products of bfloat16 for one of float32; vectors have a "
                 "peak of %.1f gflops and a limit of %.1f tokens per second\n",
                 1e-9 * b->vectors, limit_rate(b, b->vectors));
    if (b->s.m->routed)
        text_add(&t, "routed             %.1f%% of the tokens%s\n", 100 * b->share,
                 option(b->p, OPTION_ROUTED_SHARE)->given ? ", as asked" : "");
    int status = print_kernels(&t, b, e);
    bench_ways_text(b, &t);
    if (!status) return console_lines(&t, e);
    text_free(&t);
    return status;
}

int bench_report(const Bench *b, Error *e) {
    return option(b->p, OPTION_JSON)->given ? report_json(b, e) : report_text(b, e);
}
