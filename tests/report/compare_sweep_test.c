/* SPDX-License-Identifier: MIT
** What a comparison's page draws of a sweep, and the order of its kernels. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page_check.h"
#include "scratch.h"
#include "small_comparison.h"

static int times_in(const char *text, const char *part) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

/* The loss of each rate, the best ones in rings; what is far off is named, not drawn to scale. */
static void rates_are_drawn(void **state) {
    static const double rate[] = { 3e-3, 1e-3, 1000, 0.03 }, own[] = { 2.5, 2.75, INFINITY, 2.6 },
                        base[] = { 2.25, 2.5, 90, 2.3 };
    Comparison c = small_comparison(state, 2, 2);
    add_training(&c, 0.6);
    char *page = comparison_written(&c, compare_html, NULL);
    assert_null(strstr(page, "Loss at each learning rate"));
    free(page);
    strcpy(c.variant[0].label, "plain"), strcpy(c.variant[1].label, "own");
    c.rates = 4;
    memcpy(c.rate, rate, sizeof rate);
    memcpy(c.variant[0].swept, base, sizeof base);
    memcpy(c.variant[1].swept, own, sizeof own);
    c.variant[0].lr = c.variant[1].lr = 3e-3;
    page = comparison_written(&c, compare_html, NULL);
    page_check_tags(page);
    assert_null(strstr(page, "nan"));
    assert_non_null(strstr(page, "Loss at each learning rate"));
    assert_non_null(strstr(page, "; above the picture: plain at 1000; diverged: own at 1000"));
    assert_int_equal(times_in(page, ", its best</title>"), 2);
    assert_int_equal(times_in(page, "r=\"7\""), 2);
    assert_non_null(strstr(page, "own, rate 0.03: 2.6000</title></circle>"));
    assert_non_null(strstr(page, "plain, rate 1000: 90.0000</title></path>"));
    free(page);
    compare_free(&c);
}

/* Kernels that take the most time stand first, in the table and on the page. */
static void kernels_are_in_the_order_of_their_times(void **state) {
    for (int measured = 0; measured < 2; measured++) {
        Comparison c = small_comparison(state, 2, 2);
        if (measured) add_times(&c, 0.5);
        int n;
        Role *role = compare_roles(&c, &n);
        assert_non_null(role);
        compare_roles_sort(&c, role, n);
        assert_true(n > 5 && role[0].seconds > 0 && role[0].seconds > role[n - 1].seconds);
        for (int i = 1; i < n; i++)
            assert_true(role[i - 1].seconds >= role[i].seconds);
        for (int i = 0; measured && i < n; i++)
            for (int k = 0; k < c.n; k++)
                assert_false(role[i].of[k].seconds > role[i].seconds);
        free(role);
        compare_free(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates_are_drawn, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(kernels_are_in_the_order_of_their_times, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
