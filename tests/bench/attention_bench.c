/* SPDX-License-Identifier: MIT
** Speed of the attention kernels on one core: GFLOP/s of forward and backward
** over useful work (causal pairs only), and their share of the processor's
** multiply-add peak, which is measured first; in libraries of processors that
** multiply pairs of bfloat16s, of float32 and of bfloat16, both beside that peak.
**   attention_bench [SEQUENCES TIME HEADS SIZE]
**   attention_bench latent [HEADS PAST]    decoding of latents alone: one row of keys for all heads
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "attention_kept.h"
#include "kernels.h"
#include "peak.h"

/* Time of the processor: others that it works for in between do not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *numbers(int64_t n) {
    float *x = aligned_alloc(64, (size_t)((n * 4 + 63) / 64 * 64));
    uint32_t state = 12345;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    return x;
}

static void forward(const Attention *a, float *scratch) {
    for (int64_t i = 0, n = k_attention_tasks(a); i < n; i++)
        k_attention(a, i, scratch);
}

static void backward(const Attention *a, float *scratch) {
    for (int64_t i = 0, n = k_attention_grad_tasks(a); i < n; i++)
        k_attention_grad(a, i, scratch);
}

/* The shortest of a few runs: what else the machine does can only add to them. */
static double seconds(void (*f)(const Attention *, float *), const Attention *a, float *scratch) {
    enum { RUNS = 12 };
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        f(a, scratch);
        best = fmin(best, now() - start);
    }
    return best;
}

static void print_products(const Attention *a, float *scratch, double top) {
    double pairs = (double)a->sequences * a->heads * (double)a->time * (double)(a->time + 1) / 2;
    double f = 1e-9 * 4 * pairs * a->dk / seconds(forward, a, scratch);
    double g = 1e-9 * 10 * pairs * a->dk / seconds(backward, a, scratch);
    printf("%-4s B %-3lld T %-5lld H %-3d d %-4d forward %7.1f GFLOP/s %3.0f %%   backward %7.1f "
           "GFLOP/s %3.0f %%\n",
           a->bf16 ? "bf16" : "f32", (long long)a->sequences, (long long)a->time, a->heads, a->dk,
           f, 100 * f / top, g, 100 * g / top);
}

static void measure_products(int bf16, int64_t sequences, int64_t time, int heads, int d,
                             double top) {
    int64_t rows = sequences * time, c = (int64_t)heads * d;
    float *qkv = numbers(rows * 3 * c), *o = numbers(rows * c), *dout = numbers(rows * c);
    float *grad = numbers(rows * 3 * c), *lse = numbers(rows * heads),
          *delta = numbers(rows * heads);
    float *scratch = aligned_alloc(64, (size_t)k_attention_scratch(d));
    Attention a = { .sequences = sequences,
                    .time = time,
                    .heads = heads,
                    .groups = heads,
                    .dk = d,
                    .dv = d,
                    .causal = 1,
                    .bf16 = bf16,
                    .scale = 1.0f / sqrtf((float)d),
                    .q = qkv,
                    .k = qkv + c,
                    .v = qkv + 2 * c,
                    .ldq = 3 * c,
                    .ldk = 3 * c,
                    .ldv = 3 * c,
                    .o = o,
                    .lse = lse,
                    .ldo = c,
                    .ldlse = heads,
                    .dout = dout,
                    .lddout = c,
                    .delta = delta,
                    .lddelta = heads,
                    .dq = grad,
                    .dk_ = grad + c,
                    .dvalue = grad + 2 * c,
                    .lddq = 3 * c,
                    .lddk = 3 * c,
                    .lddv = 3 * c };
    print_products(&a, scratch, top);
    free(qkv), free(o), free(dout), free(grad), free(lse), free(delta), free(scratch);
}

static void measure(int64_t sequences, int64_t time, int heads, int d, double top) {
    for (int bf16 = 0; bf16 <= STRATA_PAIRS; bf16++)
        measure_products(bf16, sequences, time, heads, d, top);
}

/* Rows of a cache. */
static float *kept_numbers(int kept, int64_t rows, int d) {
    float *x = numbers(rows * d), *to = numbers(rows * kept_floats(kept, d));
    if (kept == KEPT_F32) memcpy(to, x, (size_t)(rows * d) * sizeof *x);
    else k_keep_rows(kept, rows, d, x, d, to);
    free(x);
    return to;
}

/* One token against a long cache: its time, bytes of keys and values per second. */
static void measure_decode(int kept, int64_t past, int heads, int groups, int d) {
    static const char *const names[] = { "f32", "bf16", "q8" };
    int64_t context = past + 1;
    float *q = numbers((int64_t)heads * d), *o = numbers((int64_t)heads * d);
    float *keys = kept_numbers(kept, groups * context, d),
          *values = kept_numbers(kept, groups * context, d);
    float *scratch = aligned_alloc(64, (size_t)k_attention_scratch(d));
    Attention a = { .sequences = 1,
                    .time = 1,
                    .heads = heads,
                    .groups = groups,
                    .dk = d,
                    .dv = d,
                    .causal = 1,
                    .kept = kept,
                    .scale = 1.0f / sqrtf((float)d),
                    .q = q,
                    .ldq = (int64_t)heads * d,
                    .o = o,
                    .ldo = (int64_t)heads * d,
                    .keys = &keys,
                    .values = &values,
                    .past = &past,
                    .context = context };
    double least = seconds(forward, &a, scratch);
    printf("decode  past %-6lld heads %-3d groups %-3d d %-4d %-4s %8.1f us %6.1f GB/s\n",
           (long long)past, heads, groups, d, names[kept], 1e6 * least,
           8e-9 * (double)(groups * context * kept_floats(kept, d)) / least);
    free(q), free(o), free(keys), free(values), free(scratch);
}

/* Latents of r + dr floats, whose first r are the values: of so many caches that they come from
** memory. */
enum { LATENT = 512, TURNED = 64, LATENT_CACHES = 64 << 20 };

/* The sum of what all caches hold: what memory gives one core. */
static void sum_caches(const Attention *a, float *scratch) {
    V sum[4] = { v_zero(), v_zero(), v_zero(), v_zero() };
    for (int64_t b = 0; b < a->sequences; b++)
        for (int64_t i = 0; i + 4 * LANES <= (a->past[b] + 1) * a->dk; i += 4 * LANES)
            for (int c = 0; c < 4; c++)
                sum[c] += v_load(a->keys[b] + i + c * LANES);
    v_store(scratch, sum[0] + sum[1] + sum[2] + sum[3]);
}

static void print_latent(const Attention *a, float *scratch, double top) {
    double rows = (double)a->sequences * (double)(a->past[0] + 1), bytes = 4 * rows * a->dk,
           work = 2 * rows * a->heads * (a->dk + a->dv), least = seconds(forward, a, scratch),
           memory = seconds(sum_caches, a, scratch), floor = fmax(memory, 1e-9 * work / top);
    printf("latent  past %-6lld heads %-3d %6.1f GB/s of %.1f, %6.1f GFLOP/s of %.1f: %.2f of the "
           "larger share's time\n",
           (long long)a->past[0], a->heads, 1e-9 * bytes / least, 1e-9 * bytes / memory,
           1e-9 * work / least, top, least / floor);
}

static void measure_latent(int64_t past, int heads, double top) {
    int64_t row = LATENT + TURNED, n = LATENT_CACHES / (row * (past + 1)) / 4 + 1;
    float *q = numbers(n * heads * row), *o = numbers(n * heads * LATENT),
          *scratch = aligned_alloc(64, (size_t)k_attention_scratch(row)), *keys[n];
    int64_t pasts[n];
    for (int64_t b = 0; b < n; b++)
        keys[b] = numbers((past + 1) * row), pasts[b] = past;
    Attention a = { .sequences = n, .time = 1, .heads = heads, .groups = 1, .dk = (int)row };
    a.dv = LATENT, a.causal = a.shaped = a.share = 1, a.scale = 1.0f / sqrtf((float)row);
    a.q = q, a.ldq = heads * row, a.o = o, a.ldo = heads * LATENT;
    a.keys = keys, a.values = keys, a.past = pasts, a.context = past + 1;
    print_latent(&a, scratch, top);
    for (int64_t b = 0; b < n; b++)
        free(keys[b]);
    free(q), free(o), free(scratch);
}

static void measure_latents(double top) {
    for (int heads = 2; heads <= 32; heads *= 2)
        measure_latent(2047, heads, top);
}

int main(int argc, char **argv) {
    if (!bench_begin()) return 77;
    double top = peak_rate(now);
    printf("peak of one core, %d lanes: %.1f GFLOP/s\n", LANES, top);
    if (argc > 1 && !strcmp(argv[1], "latent")) {
        if (argc == 4) measure_latent(atoll(argv[3]), atoi(argv[2]), top);
        else measure_latents(top);
        return 0;
    }
    if (argc == 5) {
        measure(atoll(argv[1]), atoll(argv[2]), atoi(argv[3]), atoi(argv[4]), top);
        return 0;
    }
    measure(4, 512, 4, 32, top);
    measure(2, 512, 8, 64, top);
    measure(1, 2048, 8, 64, top);
    measure(1, 2048, 2, 64, top);
    measure(1, 8192, 2, 64, top);
    measure(1, 1024, 4, 128, top);
    for (int kept = KEPT_F32; kept <= KEPT_Q8; kept++) {
        measure_decode(kept, 512, 8, 8, 64);
        measure_decode(kept, 8192, 8, 8, 64);
        measure_decode(kept, 8192, 8, 2, 64);
        measure_decode(kept, 32768, 15, 5, 64);
    }
    measure_latents(top);
    return 0;
}
