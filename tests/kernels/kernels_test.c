/* SPDX-License-Identifier: MIT
** Loss, embedding, optimizer and wave tables against plain loops in double, at
** sizes from one element on, between guard pages; and that splitting a range
** anywhere changes no bit.
*/
#include "kernel_test.h"
#include <math.h>
#include <stdio.h>

enum { GAP = 5 };

static Guarded matrix(Draw *d, int64_t rows, int64_t columns, float scale) {
    Guarded g = guard_matrix(rows, columns, columns + GAP, AFTER);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            g.at[i * (columns + GAP) + j] = scale * draw_real(d);
    return g;
}

static double log_sum_exp(int64_t n, const float *x) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - largest);
    return largest + log(sum);
}

static const int64_t vocabularies[] = { 2, 3, 15, 16, 17, 100, 256, 1023, 1024, 1025, 4099, 50257 };
enum { VOCABULARIES = sizeof vocabularies / sizeof *vocabularies, TOKENS = 5 };

static void draw_ids(Draw *d, int64_t n, int64_t v, int32_t *ids) {
    ids[0] = 0;
    ids[n - 1] = (int32_t)(v - 1);
    for (int64_t t = 1; t < n - 1; t++)
        ids[t] = (int32_t)draw_below(d, v);
}

static void cross_entropy_is_right(void **state) {
    (void)state;
    Draw d = { 1 };
    for (int i = 0; i < 2 * VOCABULARIES; i++) {
        int64_t v = vocabularies[i / 2], ld = v + GAP;
        Guarded logits = matrix(&d, TOKENS, v, i % 2 ? 80 : 3);
        float nll[TOKENS * 2], lse[TOKENS * 3];
        int32_t ids[TOKENS];
        draw_ids(&d, TOKENS, v, ids);
        guard_readonly(logits);
        k_cross_entropy(TOKENS, v, logits.at, ld, ids, nll, 2, lse, 3);
        for (int t = 0; t < TOKENS; t++) {
            double right = log_sum_exp(v, logits.at + t * ld);
            assert_true(fabs(lse[3 * t] - right) <= 2e-7 * (4 + fabs(right)));
            assert_true(fabs(nll[2 * t] - (right - logits.at[t * ld + ids[t]]))
                        <= 4e-7 * (4 + fabs(right)));
        }
        guard_free(logits);
    }
}

/* Into other memory, and in place: the same bits. */
static void cross_entropy_gradient_is_right(void **state) {
    (void)state;
    Draw d = { 2 };
    for (int i = 0; i < VOCABULARIES; i++) {
        int64_t v = vocabularies[i], ld = v + GAP;
        Guarded logits = matrix(&d, TOKENS, v, 4), out = matrix(&d, TOKENS, v, 1);
        float lse[TOKENS], dy[TOKENS * 2];
        int32_t ids[TOKENS];
        draw_ids(&d, TOKENS, v, ids);
        for (int t = 0; t < TOKENS; t++)
            dy[2 * t] = draw_real(&d);
        k_cross_entropy(TOKENS, v, logits.at, ld, ids, NULL, 0, lse, 1);
        k_cross_entropy_grad(TOKENS, v, logits.at, ld, lse, 1, ids, dy, 2, out.at, ld);
        for (int t = 0; t < TOKENS; t++) {
            double total = log_sum_exp(v, logits.at + t * ld);
            for (int64_t j = 0; j < v; j++) {
                double right = dy[2 * t] * (exp(logits.at[t * ld + j] - total) - (j == ids[t]));
                assert_true(fabs(out.at[t * ld + j] - right) <= 3e-6 * fabs(dy[2 * t]));
            }
        }
        k_cross_entropy_grad(TOKENS, v, logits.at, ld, lse, 1, ids, dy, 2, logits.at, ld);
        for (int t = 0; t < TOKENS; t++)
            assert_memory_equal(logits.at + t * ld, out.at + t * ld, (size_t)v * sizeof(float));
        guard_free(logits);
        guard_free(out);
    }
}

/* Logits of -inf have probability 0, a first block of nothing else included;
** a NaN makes the loss NaN. */
static void cross_entropy_of_infinities(void **state) {
    (void)state;
    enum { V = 3000 };
    float *x = malloc(V * sizeof *x), nll, lse, one = 1;
    int32_t id = V - 1;
    for (int i = 0; i < V; i++)
        x[i] = i < 2000 ? -INFINITY : 1;
    k_cross_entropy(1, V, x, V, &id, &nll, 1, &lse, 1);
    assert_true(fabs(nll - log(1000)) < 1e-5);
    k_cross_entropy_grad(1, V, x, V, &lse, 1, &id, &one, 1, x, V);
    assert_true(x[0] == 0 && fabsf(x[2500] - 1e-3f) < 1e-8f);
    x[7] = NAN;
    k_cross_entropy(1, V, x, V, &id, &nll, 1, &lse, 1);
    assert_true(isnan(nll) && isnan(lse));
    free(x);
}

static void embedding_copies_rows(void **state) {
    (void)state;
    Draw d = { 3 };
    for (int64_t width = 1; width < 70; width += 3) {
        enum { V = 11, N = 23 };
        int32_t ids[N];
        draw_ids(&d, N, V, ids);
        Guarded w = matrix(&d, V, width, 1), y = matrix(&d, N, width, 1);
        guard_readonly(w);
        k_embed(N, width, w.at, width + GAP, ids, y.at, width + GAP);
        for (int t = 0; t < N; t++)
            assert_memory_equal(y.at + t * (width + GAP), w.at + ids[t] * (width + GAP),
                                (size_t)width * 4);
        guard_free(w);
        guard_free(y);
    }
}

/* Columns in any split; every id's tokens in order. */
static void embedding_gradient_adds_in_order(void **state) {
    (void)state;
    Draw d = { 4 };
    for (int64_t width = 1; width < 70; width += 3) {
        enum { V = 4, N = 50 };
        int64_t ld = width + GAP, cut = draw_below(&d, width + 1);
        int32_t ids[N];
        draw_ids(&d, N, V + 1, ids); /* rows beyond the table are left out */
        Guarded dy = matrix(&d, N, width, 1), dw = matrix(&d, V, width, 1);
        float *right = malloc((size_t)(V * width) * sizeof *right);
        for (int64_t i = 0; i < V * width; i++)
            right[i] = dw.at[i / width * ld + i % width];
        for (int64_t i = 0; i < N * width; i++)
            if (ids[i / width] < V)
                right[ids[i / width] * width + i % width] += dy.at[i / width * ld + i % width];
        guard_readonly(dy);
        k_embed_weight(N, cut, width, dy.at, ld, ids, V, dw.at, ld);
        k_embed_weight(N, 0, cut, dy.at, ld, ids, V, dw.at, ld);
        for (int64_t r = 0; r < V; r++)
            assert_memory_equal(dw.at + r * ld, right + r * width, (size_t)width * sizeof *right);
        free(right);
        guard_free(dy);
        guard_free(dw);
    }
}

typedef struct Moments {
    Guarded p, g, m, v;
} Moments;

static Moments moments(int64_t n, uint64_t seed) {
    Draw d = { seed };
    Moments x = { guard_matrix(1, n, n, AFTER), guard_matrix(1, n, n, AFTER),
                  guard_matrix(1, n, n, AFTER), guard_matrix(1, n, n, AFTER) };
    for (int64_t i = 0; i < n; i++) {
        x.p.at[i] = draw_real(&d);
        x.g.at[i] = i % 7 == 3 ? 0 : draw_real(&d) * powf(10, (float)(i % 5) - 4);
        x.m.at[i] = 0.01f * draw_real(&d);
        x.v.at[i] = i % 7 == 3 ? 0 : 0.01f * fabsf(draw_real(&d));
    }
    return x;
}

static void moments_free(Moments x) {
    guard_free(x.p), guard_free(x.g), guard_free(x.m), guard_free(x.v);
}

static void adamw(Moments x, int64_t from, int64_t to) {
    k_adamw(to - from, x.p.at + from, x.g.at + from, x.m.at + from, x.v.at + from, 3e-3f, 0.9f,
            0.95f, 1e-8f, 0.1f, 1 - 0.729f, 1 - 0.857375f, 0.5f);
}

static void adamw_is_right(void **state) {
    (void)state;
    for (int64_t n = 1; n < 100; n++) {
        Moments x = moments(n, 5), before = moments(n, 5);
        guard_readonly(x.g);
        adamw(x, 0, n);
        for (int64_t i = 0; i < n; i++) {
            double g = 0.5 * before.g.at[i], m = 0.9f * (double)before.m.at[i] + (1 - 0.9f) * g;
            double v = 0.95f * (double)before.v.at[i] + (1 - 0.95f) * g * g;
            double step = 3e-3f * (m / (1 - 0.729f)) / (sqrt(v / (1 - 0.857375f)) + 1e-8f);
            double p = before.p.at[i] * (1 - 3e-3f * (double)0.1f) - step;
            assert_true(fabs(x.m.at[i] - m) <= 3e-7 * (fabs(0.9 * before.m.at[i]) + fabs(g)));
            assert_true(fabs(x.v.at[i] - v) <= 1e-6 * v);
            double cancelled = 3e-7 * (fabs(0.9 * before.m.at[i]) + fabs(g)) / fmax(fabs(m), 1e-30);
            assert_true(fabs(x.p.at[i] - p) <= 2e-7 + fabs(step) * (2e-6 + cancelled));
        }
        moments_free(x);
        moments_free(before);
    }
}

static void adamw_may_be_split_anywhere(void **state) {
    (void)state;
    enum { N = 131 };
    Moments whole = moments(N, 6);
    adamw(whole, 0, N);
    for (int64_t cut = 0; cut <= N; cut++) {
        Moments parts = moments(N, 6);
        adamw(parts, cut, N);
        adamw(parts, 0, cut);
        assert_memory_equal(whole.p.at, parts.p.at, N * sizeof(float));
        assert_memory_equal(whole.m.at, parts.m.at, N * sizeof(float));
        assert_memory_equal(whole.v.at, parts.v.at, N * sizeof(float));
        moments_free(parts);
    }
    moments_free(whole);
}

static void sums_of_squares_are_right(void **state) {
    (void)state;
    static const int64_t sizes[] = { 0, 1, 7, 31, 64, 4095, 4096, 4097, 20011 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Draw d = { 7 };
        Guarded g = matrix(&d, 1, sizes[i], 100);
        double right = 0;
        for (int64_t j = 0; j < sizes[i]; j++)
            right += (double)g.at[j] * g.at[j];
        guard_readonly(g);
        assert_true(fabs(k_sum_squares(sizes[i], g.at) - right) <= 1e-12 * right);
        guard_free(g);
    }
}

static void rows_are_added_in_order(void **state) {
    (void)state;
    Draw d = { 8 };
    for (int64_t n = 1; n < 70; n++) {
        enum { ROWS = 6 };
        Guarded part = matrix(&d, ROWS, n, 1), out = matrix(&d, 1, n, 1);
        float *right = malloc((size_t)n * sizeof *right);
        for (int add = 1; add >= 0; add--) {
            for (int64_t i = 0; i < n; i++) {
                right[i] = add ? out.at[i] : 0;
                for (int r = 0; r < ROWS; r++)
                    right[i] += part.at[r * (n + GAP) + i];
            }
            k_reduce_rows(ROWS, n, part.at, n + GAP, out.at, add);
            assert_memory_equal(out.at, right, (size_t)n * sizeof *right);
        }
        k_zero(n, out.at);
        for (int64_t i = 0; i < n; i++)
            assert_true(out.at[i] == 0);
        free(right);
        guard_free(part);
        guard_free(out);
    }
}

static void waves_are_right(void **state) {
    (void)state;
    static const double frequency[] = { 1,    0.5, 1e-4, 0.70710678118654752, 3.14159265358979312,
                                        31.25 };
    enum { N = sizeof frequency / sizeof *frequency, POSITIONS = 300 };
    static const int64_t firsts[] = { 0, 1000, 31000, -40 };
    double worst = 0;
    for (int i = 0; i < 8; i++) {
        Guarded table = guard_matrix(POSITIONS, N, N + GAP, AFTER);
        int64_t first = firsts[i / 2];
        k_wave(first, POSITIONS, N, frequency, 0x1p20, i % 2, table.at, N + GAP);
        for (int p = 0; p < POSITIONS; p++)
            for (int j = 0; j < N; j++) {
                double angle = (double)(first + p) * frequency[j],
                       right = i % 2 ? sin(angle) : cos(angle);
                double got = table.at[p * (N + GAP) + j] * 0x1p-20;
                /* half a unit of the float is 3e-8 of the value: what is left is the wave's own */
                worst = fmax(worst, fabs(got - right) - 0x1p-24 * fabs(right));
            }
        guard_free(table);
    }
    printf("wave: at most %.2g beyond rounding to float\n", worst);
    assert_true(worst < 1e-12);
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cross_entropy_is_right),
        cmocka_unit_test(cross_entropy_gradient_is_right),
        cmocka_unit_test(cross_entropy_of_infinities),
        cmocka_unit_test(embedding_copies_rows),
        cmocka_unit_test(embedding_gradient_adds_in_order),
        cmocka_unit_test(adamw_is_right),
        cmocka_unit_test(adamw_may_be_split_anywhere),
        cmocka_unit_test(sums_of_squares_are_right),
        cmocka_unit_test(rows_are_added_in_order),
        cmocka_unit_test(waves_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
