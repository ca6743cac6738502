/* SPDX-License-Identifier: MIT
** Speed of the attention kernels on one core: GFLOP/s of forward and backward
** over useful work (causal pairs only), and their share of the processor's
** multiply-add peak, which is measured first; in libraries of processors that
** multiply pairs of bfloat16s, of float32 and of bfloat16, both beside that peak.
**   attention_bench [SEQUENCES TIME HEADS SIZE]
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "kernels.h"
#include "peak.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
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

/* One token against a long cache: bytes of keys and values per second. */
static void measure_decode(int64_t past, int heads, int groups, int d) {
    int64_t context = past + 1;
    float *q = numbers((int64_t)heads * d), *o = numbers((int64_t)heads * d);
    float *keys = numbers(groups * context * d), *values = numbers(groups * context * d);
    float *scratch = aligned_alloc(64, (size_t)k_attention_scratch(d));
    Attention a = { .sequences = 1,
                    .time = 1,
                    .heads = heads,
                    .groups = groups,
                    .dk = d,
                    .dv = d,
                    .causal = 1,
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
    printf("decode  past %-6lld heads %-3d groups %-3d d %-4d %6.1f GB/s\n", (long long)past, heads,
           groups, d, 8e-9 * (double)(groups * context * d) / least);
    free(q), free(o), free(keys), free(values), free(scratch);
}

int main(int argc, char **argv) {
    if (!bench_begin()) return 77;
    double top = peak_rate(now);
    printf("peak of one core, %d lanes: %.1f GFLOP/s\n", LANES, top);
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
    measure_decode(512, 8, 8, 64);
    measure_decode(8192, 8, 8, 64);
    measure_decode(8192, 8, 2, 64);
    return 0;
}
