/* SPDX-License-Identifier: MIT
** Shifts, convolutions and their gradients against plain loops in double: sequences of one length
** and of their own, none too, pasts that states carry; channels and taps of any number, shared or
** not, all rows' or each row's own, between guard pages; and that neither the split into tasks nor
** where a call begins changes a bit.
*/
#include "kernel_test.h"
#include <math.h>
#include <stdio.h>

enum { GAP = 3, ROWS = 150, GRANULE = 64, HEAD = 4 };

typedef struct Sizes {
    int64_t groups, width, taps;
} Sizes;

static const Sizes sizes[] = {
    { 1, 1, 1 }, { 5, 1, 4 },  { 16, 1, 4 }, { 67, 1, 4 },  { 64, 1, 2 },  { 33, 1, 3 },
    { 3, 7, 5 }, { 2, 40, 4 }, { 7, 2, 9 },  { 130, 1, 1 }, { 1, 100, 3 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Where sequences begin: one, several of one length, several of their own, some without rows. */
typedef struct Layout {
    int64_t sequences, time, first[6];
} Layout;

static const Layout layouts[] = {
    { 1, ROWS, { 0 } },
    { 15, 10, { 0 } },
    { 5, 0, { 0, 1, 1, 40, 149, ROWS } },
    { ROWS, 1, { 0 } },
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

typedef struct Bench {
    Sizes s;
    const Layout *l;
    bool by_row;
    Guarded x, dy, w;
    float *state[ROWS]; /* HEAD floats that are not carried, then carried rows */
    Convolution c;
} Bench;

static Guarded drawn(Draw *d, int64_t rows, int64_t columns) {
    Guarded g = guard_matrix(rows, columns, columns + GAP, AFTER);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            g.at[i * (columns + GAP) + j] = draw_real(d);
    return g;
}

static Bench bench_open(Draw *d, Sizes s, const Layout *l, bool by_row, bool past) {
    int64_t columns = s.groups * s.width, taps = s.groups * s.taps;
    Bench b = { .s = s, .l = l, .by_row = by_row };
    b.x = drawn(d, ROWS, columns), b.dy = drawn(d, ROWS, columns);
    b.w = drawn(d, by_row ? ROWS : 1, taps);
    b.c = (Convolution){ { l->sequences, l->time, l->time ? NULL : l->first, columns, s.taps - 1,
                           b.x.at, columns + GAP, NULL, HEAD * sizeof(float) },
                         s.groups,
                         s.taps,
                         b.w.at,
                         by_row ? taps + GAP : 0 };
    for (int64_t i = 0; past && i < l->sequences; i++) {
        int64_t floats = HEAD + (s.taps - 1) * columns;
        b.state[i] = malloc((size_t)floats * sizeof(float));
        for (int64_t k = 0; k < floats; k++)
            b.state[i][k] = draw_real(d);
    }
    return b;
}

static void bench_close(Bench *b) {
    guard_free(b->x), guard_free(b->dy), guard_free(b->w);
    for (int i = 0; i < ROWS; i++)
        free(b->state[i]);
}

static int64_t sequence_of(const Layout *l, int64_t r) {
    int64_t b = 0;
    if (l->time) return r / l->time;
    while (l->first[b + 1] <= r)
        b++;
    return b;
}

static int64_t first_of(const Layout *l, int64_t b) { return l->time ? b * l->time : l->first[b]; }

/* x of a row or of what is carried before it; 0 beyond. */
static double x_at(const Bench *b, int64_t r, int64_t back, int64_t column) {
    int64_t q = sequence_of(b->l, r), first = first_of(b->l, q), from = r - back;
    if (from >= first) return b->x.at[from * b->c.x.ldx + column];
    if (!b->c.x.states) return 0;
    return b->state[q][HEAD + (b->c.x.depth + from - first) * b->c.x.columns + column];
}

static double w_at(const Bench *b, int64_t r, int64_t column, int64_t j) {
    return b->w.at[r * b->c.ldw + column / b->s.width * b->s.taps + j];
}

static void same(double found, double right, double size) {
    if (!(fabs(found - right) <= 3e-6 * (size + fabs(right))))
        fail_msg("%.9g, expected %.9g", found, right);
}

/* == Forward and back ===================================================== */

static void check_forward(Draw *d, Bench *b) {
    int64_t columns = b->c.x.columns, ld = columns + GAP;
    Guarded y = guard_matrix(ROWS, columns, ld, AFTER),
            again = guard_matrix(ROWS, columns, ld, AFTER);
    if (b->state[0]) b->c.x.states = (void *const *)b->state;
    k_conv(&b->c, 0, ROWS, y.at, ld);
    for (int64_t r = 0, next; r < ROWS; r = next) {
        next = r + 1 + draw_below(d, 40);
        k_conv(&b->c, r, next < ROWS ? next : ROWS, again.at, ld);
    }
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t i = 0; i < columns; i++) {
            double right = 0;
            for (int64_t j = 0; j < b->s.taps; j++)
                right += w_at(b, r, i, j) * x_at(b, r, b->s.taps - 1 - j, i);
            same(y.at[r * ld + i], right, (double)b->s.taps);
            assert_memory_equal(&y.at[r * ld + i], &again.at[r * ld + i], sizeof(float));
        }
    guard_free(y), guard_free(again);
    b->c.x.states = NULL;
}

/* The gradients of x, found by going through what forward does. */
static void check_back(Bench *b) {
    int64_t columns = b->c.x.columns, ld = columns + GAP;
    Guarded dx = guard_matrix(ROWS, columns, ld, AFTER);
    double *right = calloc((size_t)(ROWS * columns), sizeof *right);
    Convolution c = b->c;
    c.x.x = b->dy.at;
    k_conv_back(&c, 0, 70, dx.at, ld);
    k_conv_back(&c, 70, ROWS, dx.at, ld);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t j = 0; j < b->s.taps; j++) {
            int64_t from = r - (b->s.taps - 1 - j);
            if (from < first_of(b->l, sequence_of(b->l, r))) continue;
            for (int64_t i = 0; i < columns; i++)
                right[from * columns + i] += w_at(b, r, i, j) * b->dy.at[r * ld + i];
        }
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t i = 0; i < columns; i++)
            same(dx.at[r * ld + i], right[r * columns + i], (double)b->s.taps);
    free(right);
    guard_free(dx);
}

/* The gradients of taps: each row's own, and their sums, added to something or not. */
static void check_taps(Bench *b) {
    int64_t G = b->s.groups, n = b->s.taps, ld = b->c.x.columns + GAP;
    Guarded own = guard_matrix(ROWS, G * n, G * n + GAP, AFTER),
            sums = guard_matrix(2, G * n, G * n, AFTER);
    k_conv_taps(&b->c, b->dy.at, ld, 0, 33, own.at, G * n + GAP);
    k_conv_taps(&b->c, b->dy.at, ld, 33, ROWS, own.at, G * n + GAP);
    for (int64_t i = 0; i < G * n; i++)
        sums.at[i] = NAN, sums.at[G * n + i] = 2;
    for (int add = 0; add < 2; add++) {
        k_conv_weight(&b->c, b->dy.at, ld, GRANULE, 0, G / 2, sums.at + add * G * n, add);
        k_conv_weight(&b->c, b->dy.at, ld, GRANULE, G / 2, G, sums.at + add * G * n, add);
    }
    for (int64_t k = 0; k < G * n; k++) {
        double sum = 0;
        for (int64_t r = 0; r < ROWS; r++) {
            double right = 0;
            for (int64_t i = k / n * b->s.width; i < (k / n + 1) * b->s.width; i++)
                right += b->dy.at[r * ld + i] * x_at(b, r, n - 1 - k % n, i);
            same(own.at[r * (G * n + GAP) + k], right, (double)b->s.width);
            sum += right;
        }
        same(sums.at[k], sum, sqrt((double)(ROWS * b->s.width)));
        same(sums.at[G * n + k], sum + 2, sqrt((double)(ROWS * b->s.width)));
    }
    guard_free(own), guard_free(sums);
}

static void convolutions_are_right(void **state) {
    (void)state;
    Draw d = { 1 };
    for (int i = 0; i < SIZES; i++)
        for (int k = 0; k < 4 * LAYOUTS; k++) {
            Bench b = bench_open(&d, sizes[i], &layouts[k / 4], k & 1, k & 2);
            guard_readonly(b.x), guard_readonly(b.dy), guard_readonly(b.w);
            check_forward(&d, &b);
            check_back(&b);
            check_taps(&b);
            bench_close(&b);
        }
}

/* == What is carried ====================================================== */

static void shifts_and_what_they_carry_are_right(void **state) {
    (void)state;
    Draw d = { 2 };
    for (int i = 0; i < SIZES; i++)
        for (int k = 0; k < 2 * LAYOUTS; k++) {
            const Layout *l = &layouts[k / 2];
            Bench b = bench_open(&d, sizes[i], l, false, k & 1);
            int64_t columns = b.c.x.columns, ld = columns + GAP, depth = b.c.x.depth;
            Guarded y = guard_matrix(ROWS, columns, ld, AFTER);
            float *old[ROWS];
            if (k & 1) b.c.x.states = (void *const *)b.state;
            k_shift(&b.c.x, 1, 0, 20, y.at, ld), k_shift(&b.c.x, 1, 20, ROWS, y.at, ld);
            for (int64_t r = 0; r < ROWS; r++)
                for (int64_t c = 0; c < columns; c++)
                    assert_true(y.at[r * ld + c] == x_at(&b, r, depth, c));
            for (int64_t q = 0; (k & 1) && q < l->sequences; q++)
                old[q] = memcpy(malloc((size_t)(HEAD + depth * columns) * sizeof(float)),
                                b.state[q], (size_t)(HEAD + depth * columns) * sizeof(float));
            if (k & 1) k_carry(&b.c.x);
            for (int64_t q = 0; (k & 1) && q < l->sequences; q++) {
                int64_t rows = first_of(l, q + 1) - first_of(l, q);
                assert_memory_equal(old[q], b.state[q], HEAD * sizeof(float));
                for (int64_t p = 0; p < depth * columns; p++) {
                    int64_t at = p / columns + rows - depth; /* of this call's rows */
                    float right = at >= 0 ? b.x.at[(first_of(l, q) + at) * ld + p % columns]
                                          : old[q][HEAD + p + rows * columns];
                    assert_true(b.state[q][HEAD + p] == right);
                }
                free(old[q]);
            }
            guard_free(y);
            bench_close(&b);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_right),
        cmocka_unit_test(shifts_and_what_they_carry_are_right),
    };
    if (!host_runs_kernels()) return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
