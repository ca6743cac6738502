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
    assert_int_equal(times_in(page, "</td><td>0.003</td></tr>"), 4); /* beside losses, and specs */
    free(page);
    compare_free(&c);
}

/* The rates that were taken, and that a best one at an end of the sweep asks for another. */
static void rates_are_told(void **state) {
    static const double rate[] = { 3e-3, 1e-3, 0.03 }, lost[] = { 2.5, 2.75, 2.6 };
    Comparison c = small_comparison(state, 3, 2);
    add_training(&c, 0.6);
    strcpy(c.variant[0].label, "plain"), strcpy(c.variant[1].label, "own");
    c.rates = 3;
    memcpy(c.rate, rate, sizeof rate);
    for (int i = 0; i < c.n; i++)
        memcpy(c.variant[i].swept, lost, sizeof lost), c.variant[i].lr = 3e-3;
    char *text = comparison_written(&c, compare_text, NULL), *row = strstr(text, "learning rate");
    assert_non_null(row);
    assert_true(strstr(row, " 0.003") < strchr(row, '\n'));
    assert_null(strstr(text, "may be better"));
    free(text);
    c.variant[0].lr = 0.03, c.variant[1].lr = 1e-3;
    text = comparison_written(&c, compare_text, NULL);
    char *page = comparison_written(&c, compare_html, NULL), *const both[] = { text, page };
    for (int i = 0; i < 2; i++) { /* once, not in each variant's lines */
        assert_int_equal(times_in(both[i],
                                  "Best rate at the lower end of the sweep, so that a lower one "
                                  "may be better: own (0.001). Best rate at the upper end of the "
                                  "sweep, so that a higher one may be better: plain (0.03)."),
                         1);
        assert_int_equal(times_in(both[i], "may be better"), 2);
    }
    free(text), free(page);
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

/* Kernels of the second variant take so many seconds each, of the first one as many times a
** thousand. */
static void set_times(Comparison *c, const char *const *slow, const double *seconds, int n,
                      double rest) {
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->variant[i].report->nkernel; k++) {
            double own = rest;
            for (int s = 0; s < n; s++)
                if (!strncmp(c->variant[i].report->kernel[k].name, slow[s], strlen(slow[s])))
                    own = seconds[s];
            for (int r = 0; r < ROUNDS; r++)
                c->variant[i].timing.kernel[r * c->variant[i].report->nkernel + k] = i ? own
                                                                                       : 1000 * own;
        }
}

static int count(const Role *role, int n, RoleGroup group) {
    int some = 0;
    for (int i = 0; i < n; i++)
        some += role[i].group == group;
    return some;
}

static Role *sorted(const Comparison *c, int *n) {
    Role *role = compare_roles(c, n);
    assert_non_null(role);
    compare_roles_sort(c, role, *n);
    for (int i = 0; i < *n; i++)
        assert_true(role_differs(c, &role[i]) == (role[i].group != ROLE_SAME));
    return role;
}

/* Row kernels differ; where some take nearly all the time, the others are folded away, but only if
** they take little in every variant. */
static void kernels_that_take_little_are_folded(void **state) {
    static const char *const rows[] = { "rows", "linear" };
    static const double much[] = { 1, 1 }, little[] = { 1e-6, 1 };
    Comparison c = small_comparison(state, 2, 2);
    add_times(&c, 0.5);
    int n;
    set_times(&c, rows, much, 2, 1e-6);
    Role *role = sorted(&c, &n);
    int small = count(role, n, ROLE_SMALL), differ = small + count(role, n, ROLE_LARGE);
    assert_true(small > 0 && small < differ);
    for (int i = 0; i < n; i++)
        if (role[i].group == ROLE_SMALL) assert_true(strncmp(role[i].name, "rows", 4) != 0);
    free(role);
    char *page = comparison_written(&c, compare_html, NULL),
         *text = comparison_written(&c, compare_text, NULL);
    page_check_tags(page);
    assert_non_null(strstr(page, "take less than 1 % of a step"));
    assert_non_null(strstr(text, "more differ, but take less than 1 % of a step together"));
    free(page), free(text);
    set_times(&c, rows, little, 2, 1e-6); /* all that differ take little */
    role = sorted(&c, &n);
    assert_int_equal(count(role, n, ROLE_SMALL), 0);
    free(role);
    set_times(&c, rows, much, 2, 1e-6);
    for (int k = 0; k < c.variant[1].report->nkernel * ROUNDS; k++)
        c.variant[1].timing.kernel[k] = 1e-6; /* there they take as much as any */
    role = sorted(&c, &n);
    assert_true(count(role, n, ROLE_SMALL) < small);
    free(role);
    compare_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates_are_drawn, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(rates_are_told, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(kernels_are_in_the_order_of_their_times, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(kernels_that_take_little_are_folded, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
