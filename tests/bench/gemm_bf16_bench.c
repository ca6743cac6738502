/* SPDX-License-Identifier: MIT
** Speed of the products of bfloat16 on one core: GFLOP/s and the share of the measured peak of what
** multiplies (tiles, pairs or float32), for the layer shapes of four model sizes. Weights are
** packed before, as the optimizer leaves them; "bf16" are results that become bfloat16. Rows and
** results are a task's: TOKENS of them, in cache; weight gradients are of ALL tokens, from memory.
** Then bytes per second of what the optimizer packs, from weights in cache.
*/
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "kernels.h"
#include "packed.h"
#include "peak.h"

enum { TOKENS = 256, ALL = 1024, RUNS = 40 };
/* Where pairs are not multiplied, floats are packed, but not by the optimizer. */
enum { PACKED = STRATA_PAIRS ? PACKED_PAIRS : PACKED_FLOATS };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Layer {
    int64_t m, k, ldx, ldy; /* outputs, inputs; rows are so many bfloat16s apart */
    uint16_t *x, *y;
    float *w, *sum, *dw, *forward, *back, *scratch;
} Layer;

typedef void Work(const void *layer);

static void linear(const void *of) {
    const Layer *l = of;
    k_multiply_bf16(TOKENS, l->m, l->k, l->x, l->ldx, l->forward, (Result){ l->sum, 0, l->ldy, 0 },
                    l->scratch);
}
static void linear_narrow(const void *of) {
    const Layer *l = of;
    k_multiply_bf16(TOKENS, l->m, l->k, l->x, l->ldx, l->forward, (Result){ 0, l->y, l->ldy, 0 },
                    l->scratch);
}
static void back(const void *of) {
    const Layer *l = of;
    k_multiply_bf16(TOKENS, l->k, l->m, l->y, l->ldy, l->back, (Result){ l->sum, 0, l->ldx, 0 },
                    l->scratch);
}
static void back_narrow(const void *of) {
    const Layer *l = of;
    k_multiply_bf16(TOKENS, l->k, l->m, l->y, l->ldy, l->back, (Result){ 0, l->x, l->ldx, 0 },
                    l->scratch);
}
static void weight(const void *of) {
    const Layer *l = of;
    enum { ROWS = 512, COLUMNS = 1024 }; /* of a task */
    for (int64_t m = 0; m < l->m; m += ROWS)
        for (int64_t k = 0; k < l->k; k += COLUMNS)
            k_linear_weight_bf16(ALL, m, m + ROWS < l->m ? m + ROWS : l->m, k,
                                 k + COLUMNS < l->k ? k + COLUMNS : l->k, l->y, l->ldy, l->x,
                                 l->ldx, l->dw, l->k, 0, l->scratch);
}
static void pack(const void *of) {
    const Layer *l = of;
    for (int64_t m = 0; m < l->m; m += PACK_ROWS)
        k_pack_rows_bf16(l->m, l->k, m, m + PACK_ROWS < l->m ? m + PACK_ROWS : l->m, l->w,
                         l->forward, l->back);
}

static void *room(int64_t bytes) {
    void *p = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    if (!p) exit(5);
    return p;
}

static float *numbers(int64_t n) {
    float *p = room(n * (int64_t)sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)(i * 7 % 13 - 6) * 1e-3f;
    return p;
}

static uint16_t *small_numbers(int64_t n) {
    uint16_t *p = room(n * (int64_t)sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (uint16_t)(0x3a00 + i * 7 % 13);
    return p;
}

static Layer layer_new(int64_t m, int64_t k) {
    int64_t ldx = k % 2048 ? k : k + 32, ldy = m % 2048 ? m : m + 32, wide = ldx > ldy ? ldx : ldy;
    Layer l = { m,
                k,
                ldx,
                ldy,
                small_numbers(ALL * ldx),
                small_numbers(ALL * ldy),
                numbers(m * k),
                numbers(TOKENS * wide),
                numbers(m * k),
                numbers(packed_floats(m, k, 2 * LANES, PACKED)),
                numbers(packed_floats(k, m, 2 * LANES, PACKED)),
                numbers(k_gemm_bf16_scratch() / (int64_t)sizeof(float)) };
    pack(&l);
    return l;
}

static void layer_free(Layer *l) {
    free(l->x), free(l->y), free(l->w), free(l->sum), free(l->dw);
    free(l->forward), free(l->back), free(l->scratch);
}

int main(void) {
    static const int64_t shapes[][2] = {
        { 128, 128 }, { 1024, 128 }, { 128, 1024 }, { 512, 512 }, { 2048, 512 }, { 512, 2048 },
        { 768, 768 }, { 2048, 768 }, { 768, 2048 }, { 960, 960 }, { 2560, 960 }, { 960, 2560 }
    };
    static const struct {
        const char *name;
        Work *work;
        int64_t tokens;
    } works[] = { { "linear", linear, TOKENS },
                  { "its bf16", linear_narrow, TOKENS },
                  { "back", back, TOKENS },
                  { "its bf16", back_narrow, TOKENS },
                  { "weight", weight, ALL } };
    if (!bench_begin()) return 77;
    double top = peak_pairs(now);
    printf("peak of one core: %.1f GFLOP/s\noutputs inputs |", top);
    for (size_t w = 0; w < sizeof works / sizeof works[0]; w++)
        printf(" %14s", works[w].name);
    printf(" | packing GB/s\n");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        Layer l = layer_new(shapes[i][0], shapes[i][1]);
        double products = 2e-9 * (double)(l.m * l.k);
        printf("%7lld %6lld |", (long long)l.m, (long long)l.k);
        for (size_t w = 0; w < sizeof works / sizeof works[0]; w++) {
            double rate = products * (double)works[w].tokens
                / shortest(RUNS, now, works[w].work, &l);
            printf(" %7.1f (%3.0f%%)", rate, 100 * rate / top);
        }
        if (STRATA_PAIRS)
            printf(" | %5.1f\n", 8e-9 * (double)(l.m * l.k) / shortest(RUNS, now, pack, &l));
        else printf(" |     -\n");
        layer_free(&l);
    }
    return 0;
}
