/* SPDX-License-Identifier: MIT
** Speed of the products on one core: GFLOP/s and the share of the measured
** multiply-add peak, packing included, for the layer shapes of three model
** sizes and 256 tokens; OpenBLAS beside them where it was found.  Then the
** bytes of weights per second of k_linear_few.
**
** Figures are of the thread's own time, the best of many short runs.  OPENBLAS_* variables in the
** environment change the columns on the right: unset them for a fair picture.
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "kernels.h"
#include "peak.h"
#ifdef HAVE_OPENBLAS
#include <cblas.h>
void openblas_set_num_threads(int);
#endif

enum { TOKENS = 256, RUNS = 60 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Layer {
    int64_t m, k; /* outputs, inputs */
    float *x, *w, *y, *dw, *scratch;
} Layer;

typedef void Work(const void *layer);

static void linear(const void *of) {
    const Layer *l = of;
    k_linear(TOKENS, l->m, l->k, l->x, l->k, l->w, l->k, l->y, l->m, 0, l->scratch);
}
static void back(const void *of) {
    const Layer *l = of;
    k_linear_back(TOKENS, l->m, l->k, l->y, l->m, l->w, l->k, l->x, l->k, 0, l->scratch);
}
static void weight(const void *of) {
    const Layer *l = of;
    k_linear_weight(TOKENS, 0, l->m, 0, l->k, l->y, l->m, l->x, l->k, l->dw, l->k, 1, l->scratch);
}

#ifdef HAVE_OPENBLAS
static void blas_linear(const void *of) {
    const Layer *l = of;
    int m = (int)l->m, k = (int)l->k;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, TOKENS, m, k, 1, l->x, k, l->w, k, 0, l->y,
                m);
}

static void blas_back(const void *of) {
    const Layer *l = of;
    int m = (int)l->m, k = (int)l->k;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, TOKENS, k, m, 1, l->y, m, l->w, k, 0,
                l->x, k);
}

static void blas_weight(const void *of) {
    const Layer *l = of;
    int m = (int)l->m, k = (int)l->k;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, k, TOKENS, 1, l->y, m, l->x, k, 1,
                l->dw, k);
}
#endif

/* Space for floats, small numbers in it. */
static float *numbers(int64_t n) {
    float *p = aligned_alloc(64, (size_t)(n * (int64_t)sizeof *p + 63) / 64 * 64);
    if (!p) exit(5);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)(i * 7 % 13 - 6) * 1e-3f;
    return p;
}

static Layer layer_new(int64_t m, int64_t k) {
    return (Layer){ m,
                    k,
                    numbers(TOKENS * k),
                    numbers(m * k),
                    numbers(TOKENS * m),
                    numbers(m * k),
                    numbers(k_gemm_scratch() / (int64_t)sizeof(float)) };
}

static void layer_free(Layer *l) {
    free(l->x);
    free(l->w);
    free(l->y);
    free(l->dw);
    free(l->scratch);
}

static void products(double top) {
    static const int64_t shapes[][2] = { { 128, 128 }, { 1024, 128 }, { 128, 1024 },
                                         { 512, 512 }, { 2048, 512 }, { 512, 2048 },
                                         { 768, 768 }, { 3072, 768 }, { 768, 3072 } };
    static Work *const works[] = {
        linear,      back,      weight,
#ifdef HAVE_OPENBLAS
        blas_linear, blas_back, blas_weight,
#endif
    };
    printf("outputs inputs |        linear          back        weight | OpenBLAS: the same\n");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        printf("%7ld %6ld |", (long)shapes[i][0], (long)shapes[i][1]);
        for (size_t w = 0; w < sizeof works / sizeof works[0]; w++) {
            Layer l = layer_new(shapes[i][0], shapes[i][1]);
            double rate = 2e-9 * TOKENS * (double)(l.m * l.k) / shortest(RUNS, now, works[w], &l);
            printf("%s %6.1f (%3.0f%%)", w == 3 ? " |" : "", rate, 100 * rate / top);
            layer_free(&l);
        }
        printf("\n");
    }
}

/* A matrix larger than the caches, streamed once a call. */
static void few(void) {
    enum { M = 16384, K = 2048, CALLS = 5, ROWS = 16 };
    float *w = numbers((int64_t)M * K), *x = numbers(ROWS * K), *y = numbers(ROWS * M),
          *scratch = numbers(k_few_scratch() / (int64_t)sizeof(float));
    printf("rows at once | GB/s of weights, GFLOP/s\n");
    for (int n = 1; n <= ROWS; n += n < 8 ? 1 : 4) {
        double best = 1e9;
        for (int run = 0; run < CALLS; run++) {
            double start = now();
            k_linear_few(n, 0, M, K, x, K, w, K, y, M, 0, scratch);
            double took = now() - start;
            best = took < best ? took : best;
        }
        printf("%12d | %5.1f %6.1f\n", n, 4e-9 * M * K / best, 2e-9 * n * M * K / best);
    }
    free(scratch);
    free(w);
    free(x);
    free(y);
}

int main(void) {
    if (!bench_begin()) return 77;
#ifdef HAVE_OPENBLAS
    openblas_set_num_threads(1);
#endif
    double top = peak_rate(now);
    printf("peak of one core in vectors, %d lanes: %.1f GFLOP/s\n", LANES, top);
    products(top);
    few();
    return 0;
}
