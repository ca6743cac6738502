/* SPDX-License-Identifier: MIT
** The time of a kernel, from what it does and how fast that is done. */
#include "test.h"

#include "rates.h"

#include <math.h>

static bool is_near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

static void the_longer_counts(void **state) {
    (void)state;
    const Rates r = { .products = 100, .sequences = 50, .rows = 20, .functions = 40, .memory = 10 };
    assert_true(is_near(rates_seconds(&r, "product", (RateWork){ 300, 0, 10 }), 3));
    assert_true(is_near(rates_seconds(&r, "product", (RateWork){ 300, 0, 40 }), 4));
    assert_true(is_near(rates_seconds(&r, "product", (RateWork){ 300, 50, 10 }), 4));
    assert_true(is_near(rates_seconds(&r, "sequence", (RateWork){ 300, 0, 10 }), 6));
    assert_true(is_near(rates_seconds(&r, "loss", (RateWork){ 300, 0, 10 }), 6));
    assert_true(is_near(rates_seconds(&r, "sequence", (RateWork){ 300, 60, 10 }), 7.5));
    assert_true(is_near(rates_seconds(&r, "row", (RateWork){ 60, 40, 20 }), 4));
    assert_true(is_near(rates_seconds(&r, "row", (RateWork){ 60, 40, 50 }), 5));
}

static void what_has_no_rate_takes_no_time(void **state) {
    (void)state;
    const Rates r = { .products = 100 };
    assert_true(is_near(rates_seconds(&r, "product", (RateWork){ 300, 0, 1e9 }), 3));
    assert_true(rates_seconds(&r, "row", (RateWork){ 300, 60, 50 }) == 0);
    assert_true(is_near(rates_seconds(&r, "sequence", (RateWork){ 300, 7, 1e9 }), 0));
}

static void defaults_are_rates(void **state) {
    (void)state;
    for (int lanes = 4; lanes <= 16; lanes *= 2) {
        Rates one = rates_default(lanes, false, 1), four = rates_default(lanes, false, 4);
        assert_true(one.products > 0 && one.sequences > 0 && one.memory > 0);
        assert_true(one.rows > 0 && one.functions > 0);
        assert_true(is_near(four.products, 4 * one.products) && four.memory > one.memory);
        assert_true(!one.measured && four.threads == 4);
        assert_true(rates_default(lanes, true, 1).products > one.products);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longer_counts),
        cmocka_unit_test(what_has_no_rate_takes_no_time),
        cmocka_unit_test(defaults_are_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
