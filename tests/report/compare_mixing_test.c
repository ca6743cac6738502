/* SPDX-License-Identifier: MIT
** Colours of depth mixing on a comparison's page. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mixing.h"
#include "page_check.h"
#include "scratch.h"
#include "small_comparison.h"

/* The number at the right end of the page's first colour scale. */
static double end_of_scale(const Comparison *c) {
    char *page = comparison_written(c, compare_html, NULL), *end = strstr(page, "\"colour scale\"");
    assert_non_null(end);
    *strstr(end, "</svg>") = 0;
    char *number = NULL;
    for (char *at = end; (at = strstr(at, "</text>")); at++)
        number = at;
    assert_non_null(number);
    while (number[-1] != '>')
        number--;
    double value = strtod(number, NULL);
    free(page);
    return value;
}

/* Up to the largest weight, unless a few are far beyond the others. */
static void few_weights_do_not_pale_the_others(void **state) {
    Comparison c = small_comparison(state, SMALL_RESIDUALS, 4);
    Error e = { 0 };
    add_training(&c, 0);
    int last = c.n - 1;
    double plain = end_of_scale(&c);
    assert_true(plain >= 1 && plain < 4);
    Mixing *trained = c.variant[last].trained = mixing_measure(c.variant[last].report->model,
                                                               WEIGHTS_INITIAL, 1, &e);
    assert_non_null(trained);
    double *cell = &trained->mean[(trained->size - 1) * trained->size];
    *cell = 1.2 * plain;
    assert_true(fabs(end_of_scale(&c) - 1.2 * plain) < 0.01 * plain);
    *cell = -100;
    assert_true(end_of_scale(&c) <= plain);
    compare_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_weights_do_not_pale_the_others, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
