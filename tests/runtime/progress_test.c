/* SPDX-License-Identifier: MIT
** What training's progress knows of speed; how it looks is in tests of programs. */
#include "test.h"

#include <math.h>

#include "progress.h"

/* About ten steps, beginning with the first. */
static void times_are_smoothed(void **state) {
    (void)state;
    Progress p = { .steps = 100 };
    progress_time(&p, 2);
    assert_true(p.seconds == 2);
    progress_time(&p, 1);
    assert_true(fabs(p.seconds - 1.9) < 1e-12);
    for (int i = 0; i < 200; i++)
        progress_time(&p, 1);
    assert_true(fabs(p.seconds - 1) < 1e-6);
}

static void a_peak_below_the_rate_is_noticed(void **state) {
    (void)state;
    Progress p = { .flops = 100 };
    assert_false(progress_beats_peak(&p)); /* neither is known */
    p.peak = 50;
    assert_false(progress_beats_peak(&p));
    progress_time(&p, 2);
    assert_false(progress_beats_peak(&p)); /* as fast */
    p.peak = 49.5;
    assert_false(progress_beats_peak(&p)); /* no more than noise */
    p.peak = 48;
    assert_true(progress_beats_peak(&p));
    p.peak = 0;
    assert_false(progress_beats_peak(&p));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_smoothed),
        cmocka_unit_test(a_peak_below_the_rate_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
