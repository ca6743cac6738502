/* SPDX-License-Identifier: MIT
** What a comparison makes of the times of runs: pauses, and steps that were measured in turns. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scratch.h"
#include "small_comparison.h"

static void pauses_count_as_the_median_step(void **state) {
    (void)state;
    /* steps of three seconds and of one and a half, a pause, one without a time */
    double seconds[] = { 3, 4, 5.5, 7000, 7001, 7002, 7003, 7003 };
    TrainRun r = { .seconds = seconds };
    assert_true(run_leave_out_pauses(&r, 8));
    const double expected[] = { 3, 4, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5 };
    for (int i = 0; i < 8; i++)
        assert_true(fabs(seconds[i] - expected[i]) < 1e-9);
}

static bool json_says_measured(const Comparison *c) {
    char *text = comparison_written(c, compare_json, NULL);
    bool said = strstr(text, "\"times_measured\": true") != NULL;
    assert_true(said || strstr(text, "\"times_measured\": false"));
    free(text);
    return said;
}

/* Whatever the machine did while a run went on: the baseline's here half of the time. */
static void measured_steps_are_taken(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    add_training(&c, 0.6);
    for (int s = 0; s < SEEDS; s++)
        for (int i = STEPS / 2; i < STEPS; i++)
            c.variant->run[s].seconds[i] += 2 * (i - STEPS / 2 + 1);
    const TrainRun *slow = c.variant->run;
    assert_false(compare_times_measured(&c) || json_says_measured(&c));
    assert_true(compare_seconds(&c, c.variant, slow, STEPS) == 2 * STEPS);
    add_times(&c, 0.5);
    assert_true(compare_times_measured(&c) && json_says_measured(&c));
    for (int i = 0; i < c.n; i++) { /* 'bench' of half as many tokens */
        Variant *v = &c.variant[i];
        v->timing.tokens = 0.5 * (double)v->report->model->train.batch
            * (double)v->report->model->context;
        double step = 2 * stats_median(v->timing.seconds, c.rounds);
        for (int k = 1; k <= STEPS; k += STEPS - 1)
            assert_true(fabs(compare_seconds(&c, v, v->run, k) / (step * k) - 1) < 1e-9);
    }
    TrainingResult own = compare_trained(&c, &c.variant[1]);
    assert_true(fabs(own.seconds.mean - compare_seconds(&c, &c.variant[1], slow, 20)) < 1e-9);
    Band b;
    assert_true(band_of(&c, c.variant, SERIES_LOSS, 4, &b));
    assert_true(fabs(b.seconds[3] - compare_seconds(&c, c.variant, slow, STEPS)) < 1e-9);
    band_free(&b);
    char *page = comparison_written(&c, compare_html, NULL);
    assert_non_null(strstr(page, "a step takes what --measure found"));
    free(page);
    compare_free(&c);
}

static void routes_keep_their_times(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    add_training(&c, 0.6);
    add_times(&c, 0.5);
    TrainRun *r = c.variant[1].run;
    r->routed = numbers(STEPS), r->route = numbers(1), r->routes = 1;
    assert_false(compare_times_measured(&c));
    assert_true(compare_seconds(&c, c.variant, c.variant->run, 10) == 10);
    compare_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_count_as_the_median_step),
        cmocka_unit_test_setup_teardown(measured_steps_are_taken, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(routes_keep_their_times, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
