/* SPDX-License-Identifier: MIT
** Speed of the recurrence kernels on one core: the time of a token, GFLOP/s of forward and
** backward over the operations that the form by chunks needs, and their share of the processor's
** multiply-add peak, which is measured first.
**   recurrence_bench [SEQUENCES TIME HEADS SIZE LEAST-DECAY]
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

/* Numbers from 'least' to 'most'. */
static float *numbers(int64_t n, float least, float most) {
    float *x = aligned_alloc(64, (size_t)((n * 4 + 63) / 64 * 64));
    uint32_t state = 12345;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = least + (most - least) * (float)(state >> 8) * 0x1p-24f;
    }
    return x;
}

static void forward(const Recurrence *a, float *scratch) {
    for (int64_t i = 0, n = k_recurrence_tasks(a); i < n; i++)
        k_recurrence(a, i, scratch);
}

static void backward(const Recurrence *a, float *scratch) {
    for (int64_t i = 0, n = k_recurrence_grad_tasks(a); i < n; i++)
        k_recurrence_grad(a, i, scratch);
}

/* The shortest of a few runs: what else the machine does can only add to them. */
static double seconds(void (*f)(const Recurrence *, float *), const Recurrence *a, float *scratch) {
    enum { RUNS = 40 };
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        f(a, scratch);
        best = fmin(best, now() - start);
    }
    return best;
}

static void print_speed(const Recurrence *a, float least, double top, float *scratch) {
    double tokens = (double)(a->sequences * a->time) * a->heads, d = a->dk, half = 32 * d,
           work = 2 * tokens * (3 * d * d + 4 * half), back = 2 * tokens * (8 * d * d + 11 * half),
           f = seconds(forward, a, scratch), b = seconds(backward, a, scratch);
    printf("B %-3lld T %-5lld H %-3d d %-4d decay %-5g forward %7.1f ns a head's token %6.1f "
           "GFLOP/s %3.0f %%   backward %7.1f ns %6.1f GFLOP/s %3.0f %%\n",
           (long long)a->sequences, (long long)a->time, a->heads, a->dk, (double)least,
           1e9 * f / tokens, 1e-9 * work / f, 100e-9 * work / f / top, 1e9 * b / tokens,
           1e-9 * back / b, 100e-9 * back / b / top);
}

static void measure(int64_t sequences, int64_t time, int heads, int d, float least, double top) {
    int64_t rows = sequences * time, c = (int64_t)heads * d,
            part = heads * (((int64_t)d * d + 63) / 64);
    float unit = 1 / sqrtf((float)d);
    float *qkv = numbers(rows * 3 * c, -unit, unit), *o = numbers(rows * c, 0, 1),
          *dout = numbers(rows * c, -1, 1), *g = numbers(rows * c, least, 0),
          *beta = numbers(rows * heads, 0, 1), *grad = numbers(rows * 4 * c, 0, 1),
          *dbeta = numbers(rows * heads, 0, 1), *room = numbers(rows * part, 0, 1),
          *scratch = aligned_alloc(64, (size_t)k_recurrence_scratch(d, d, 1));
    Recurrence a = { .sequences = sequences, .time = time, .heads = heads, .groups = heads };
    a.dk = a.dv = d;
    a.q = qkv, a.k = qkv + c, a.v = qkv + 2 * c, a.ldq = a.ldk = a.ldv = 3 * c;
    a.decay = g, a.lddecay = c, a.beta = beta, a.ldbeta = heads, a.o = o, a.ldo = c;
    a.dout = dout, a.lddout = c, a.room = room, a.ldroom = part;
    a.dq = grad, a.dk_ = grad + c, a.dvalue = grad + 2 * c, a.ddecay = grad + 3 * c;
    a.lddq = a.lddk = a.lddv = a.ldddecay = 4 * c, a.dbeta = dbeta, a.lddbeta = heads;
    print_speed(&a, least, top, scratch);
    float *all[] = { qkv, o, dout, g, beta, grad, dbeta, room, scratch };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

int main(int argc, char **argv) {
    double top = peak_rate(now);
    printf("peak %.0f GFLOP/s\n", top);
    if (argc == 6) {
        measure(atoll(argv[1]), atoll(argv[2]), atoi(argv[3]), atoi(argv[4]), (float)atof(argv[5]),
                top);
        return 0;
    }
    measure(1, 2048, 4, 128, -1, top);
    measure(1, 2048, 4, 128, -20, top);
    measure(1, 2048, 4, 64, -1, top);
    measure(1, 2048, 4, 32, -1, top);
    measure(1, 16384, 1, 128, -1, top);
    return 0;
}
