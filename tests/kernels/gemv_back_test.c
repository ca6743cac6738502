/* SPDX-License-Identifier: MIT
** dx = dy w for few rows, at sizes that are no multiple of anything: right, nothing past the ends,
** and a row's bits are its own.
*/
#include "kernel_test.h"
#include "attention_case.h"

static const struct {
    int64_t n, m, k;
} sizes[] = { { 1, 1, 1 },   { 1, 4, 16 },  { 2, 5, 17 },   { 3, 7, 31 },
              { 4, 64, 96 }, { 1, 3, 130 }, { 5, 129, 65 }, { 2, 128, 512 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

static double product(const Guarded *x, const Guarded *w, int64_t m, int64_t k, int64_t row,
                      int64_t column) {
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum += (double)x->at[row * (m + GAP) + i] * w->at[i * (k + GAP) + column];
    return sum;
}

static void results_are_right(void **state) {
    (void)state;
    for (int i = 0; i < 2 * SIZES; i++) {
        int64_t n = sizes[i / 2].n, m = sizes[i / 2].m, k = sizes[i / 2].k;
        Side side = i % 2 ? AFTER : BEFORE;
        Draw d = { 100 + (uint64_t)i };
        Guarded x = random_matrix(&d, n, m, side), w = random_matrix(&d, m, k, side),
                y = nan_matrix(n, k, side), one = nan_matrix(1, k, side);
        guard_readonly(x), guard_readonly(w);
        k_linear_back_few(n, m, k, x.at, m + GAP, w.at, k + GAP, y.at, k + GAP);
        for (int64_t row = 0; row < n; row++) {
            for (int64_t c = 0; c < k; c++) {
                double right = product(&x, &w, m, k, row, c);
                assert_true(fabs(y.at[row * (k + GAP) + c] - right) < 1e-6 * (double)(m + 3));
            }
            k_linear_back_few(1, m, k, x.at + row * (m + GAP), m + GAP, w.at, k + GAP, one.at,
                              k + GAP);
            same_rows(1, k, y.at + row * (k + GAP), k + GAP, one.at, k + GAP);
        }
        guard_free(x), guard_free(w), guard_free(y), guard_free(one);
    }
}

int main(void) {
    if (!host_runs_kernels()) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
