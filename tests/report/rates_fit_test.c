/* SPDX-License-Identifier: MIT
** Rates are found again from the times that they give. */
#include "test.h"

#include "rates_fit.h"

#include <math.h>

static bool is_near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

/* Of families and of row kernels that take most of their time with additions, with functions and
** with memory; where a rate is far from what the peak lets expect, too. */
static const TimedKernel kernel[] = {
    { "product", { 3e12, 1e11, 1e6 }, 0 }, { "product", { 1e12, 4e11, 2e6 }, 0 },
    { "sequence", { 5e11, 3e9, 1e6 }, 0 }, { "row", { 4e10, 1e9, 5e8 }, 0 },
    { "row", { 2e10, 3e9, 1e8 }, 0 },      { "row", { 1e9, 6e10, 1e9 }, 0 },
    { "row", { 2e9, 8e10, 2e8 }, 0 },      { "row", { 1e9, 1e9, 4e10 }, 0 },
    { "row", { 2e8, 0, 9e9 }, 0 },         { "loss", { 1e9, 1e9, 1e9 }, 0 },
};
enum { KERNELS = sizeof kernel / sizeof *kernel };

static void rates_come_back(void **state) {
    (void)state;
    static const Rates all[] = {
        { .products = 3e11, .sequences = 2e11, .rows = 5e10, .functions = 1e11, .memory = 3e10 },
        { .products = 3e11, .sequences = 2e11, .rows = 2e10, .functions = 3e10, .memory = 8e10 },
        { .products = 1e11, .sequences = 4e11, .rows = 9e10, .functions = 2e11, .memory = 1e10 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        TimedKernel timed[KERNELS];
        Rates found = { .threads = 3 };
        for (int k = 0; k < KERNELS; k++) {
            timed[k] = kernel[k];
            timed[k].seconds = rates_seconds(&all[i], kernel[k].family, kernel[k].work);
        }
        assert_true(rates_fit(&found, timed, KERNELS, 4e11));
        assert_true(is_near(found.products, all[i].products));
        assert_true(is_near(found.sequences, all[i].sequences));
        assert_true(is_near(found.memory, all[i].memory));
        assert_int_equal(found.threads, 3);
        for (int k = 0; k < KERNELS; k++)
            assert_true(
                fabs(rates_seconds(&found, kernel[k].family, kernel[k].work) - timed[k].seconds)
                <= 1e-3 * timed[k].seconds);
    }
}

/* A family without a kernel, or with times of 0. */
static void nothing_is_no_rate(void **state) {
    (void)state;
    Rates r = { 0 };
    TimedKernel timed[KERNELS];
    for (int k = 0; k < KERNELS; k++)
        timed[k] = kernel[k];
    assert_false(rates_fit(&r, timed, KERNELS, 4e11));
    for (int k = 0; k < KERNELS; k++)
        timed[k].seconds = 1;
    assert_true(rates_fit(&r, timed, KERNELS, 4e11));
    assert_false(rates_fit(&r, timed, 2, 4e11));
    assert_false(rates_fit(&r, timed + 3, KERNELS - 3, 4e11));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_come_back),
        cmocka_unit_test(nothing_is_no_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
