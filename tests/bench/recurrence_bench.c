/* SPDX-License-Identifier: MIT
** Speed of the recurrence kernels on one core: the time of a token, GFLOP/s of forward and
** backward over the operations that the form by chunks needs, and their share of the processor's
** multiply-add peak, which is measured first.
**   recurrence_bench [SEQUENCES TIME HEADS SIZE LEAST-DECAY]
**   recurrence_bench SEQUENCES TIME HEADS GROUPS KEY-SIZE VALUE-SIZE LEAST-DECAY DELTA
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

typedef struct Size {
    int64_t sequences, time;
    int heads, groups, dk, dv;
    float least; /* decays are from it to 0 */
    int delta;
} Size;

static void print_speed(const Recurrence *a, const Size *s, double top, float *scratch) {
    double tokens = (double)(s->sequences * s->time) * s->heads, delta = s->delta,
           state = s->dk * s->dv, keys = 32 * s->dk, values = 32 * s->dv;
    double work = 2 * tokens * ((2 + delta) * state + (1 + delta) * (keys + values));
    double back = 2 * tokens
        * ((5 + 3 * delta) * state + (3 + 3 * delta) * keys + (2 + 3 * delta) * values);
    double f = seconds(forward, a, scratch), b = seconds(backward, a, scratch);
    printf(
        "B %-3lld T %-5lld H %-4d %-4d dk %-3d dv %-3d decay %-5g forward %7.1f ns a head's token "
        "%6.1f GFLOP/s %3.0f %%   backward %7.1f ns %6.1f GFLOP/s %3.0f %%\n",
        (long long)s->sequences, (long long)s->time, s->heads, s->groups, s->dk, s->dv,
        (double)s->least, 1e9 * f / tokens, 1e-9 * work / f, 100e-9 * work / f / top,
        1e9 * b / tokens, 1e-9 * back / b, 100e-9 * back / b / top);
}

static void measure(Size s, double top) {
    int64_t rows = s.sequences * s.time, keys = s.groups * s.dk, values = s.heads * s.dv,
            decays = s.heads * s.dk, part = s.heads * (((int64_t)s.dk * s.dv + 63) / 64);
    float unit = 1 / sqrtf((float)s.dk);
    float *qk = numbers(rows * 2 * keys, -unit, unit), *v = numbers(rows * values, -1, 1),
          *o = numbers(rows * values, 0, 1), *dout = numbers(rows * values, -1, 1),
          *g = numbers(rows * decays, s.least, 0), *beta = numbers(rows * s.heads, 0, 1),
          *dqk = numbers(rows * 2 * keys, 0, 1), *dv = numbers(rows * values, 0, 1),
          *dg = numbers(rows * decays, 0, 1), *dbeta = numbers(rows * s.heads, 0, 1),
          *room = numbers(rows * part, 0, 1),
          *scratch = aligned_alloc(64, (size_t)k_recurrence_scratch(s.dk, s.dv, 1));
    Recurrence a = { .sequences = s.sequences, .time = s.time, .heads = s.heads };
    a.groups = s.groups, a.dk = s.dk, a.dv = s.dv;
    a.q = qk, a.k = qk + keys, a.ldq = a.ldk = 2 * keys, a.v = v, a.ldv = values;
    a.decay = g, a.lddecay = decays, a.o = o, a.ldo = values;
    if (s.delta) a.beta = beta, a.ldbeta = s.heads, a.dbeta = dbeta, a.lddbeta = s.heads;
    a.dout = dout, a.lddout = values, a.room = room, a.ldroom = part;
    a.dq = dqk, a.dk_ = dqk + keys, a.lddq = a.lddk = 2 * keys;
    a.dvalue = dv, a.lddv = values, a.ddecay = dg, a.ldddecay = decays;
    print_speed(&a, &s, top, scratch);
    float *all[] = { qk, v, o, dout, g, beta, dqk, dv, dg, dbeta, room, scratch };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* The last two: the sizes of a minGRU of 512 channels, and of a Mamba with 1024. */
static const Size sizes[] = {
    { 1, 2048, 4, 4, 128, 128, -1, 1 },  { 1, 2048, 4, 4, 128, 128, -20, 1 },
    { 1, 2048, 4, 4, 64, 64, -1, 1 },    { 1, 2048, 4, 4, 32, 32, -1, 1 },
    { 1, 16384, 1, 1, 128, 128, -1, 1 }, { 2, 256, 512, 512, 1, 1, -1, 0 },
    { 1, 256, 1024, 1, 16, 1, -1, 0 },
};

int main(int argc, char **argv) {
    double top = peak_rate(now);
    printf("peak %.0f GFLOP/s\n", top);
    if (argc == 6) {
        int heads = atoi(argv[3]), d = atoi(argv[4]);
        measure(
            (Size){ atoll(argv[1]), atoll(argv[2]), heads, heads, d, d, (float)atof(argv[5]), 1 },
            top);
        return 0;
    }
    if (argc == 9) {
        measure((Size){ atoll(argv[1]), atoll(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]),
                        atoi(argv[6]), (float)atof(argv[7]), atoi(argv[8]) },
                top);
        return 0;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        measure(sizes[i], top);
    return 0;
}
