/* SPDX-License-Identifier: MIT
** strata compare --measure and --train: what steps take and what training comes to, seed by
** seed, is compared, shown and judged; what is no more than noise is called so; intervals.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "small_comparison.h"
#include "json_get.h"
#include "page_check.h"
#include "scratch.h"

/* == Times and training =================================================== */

/* The second variant's two routes take 0.2 and 0.6 of the tokens at the end, 0.1 more with each
** seed. */
static void add_routes(Comparison *c) {
    for (int s = 0; s < SEEDS; s++) {
        TrainRun *r = &c->variant[1].run[s];
        r->routed = numbers(STEPS), r->route = numbers(2), r->routes = 2;
        for (int k = 0; k < STEPS; k++)
            r->routed[k] = (k < 20 ? 0.9 : 0.4) + 0.1 * s;
        r->route[0] = 0.2 + 0.1 * s, r->route[1] = 0.6 + 0.1 * s;
    }
}

static void shares_of_routes_are_counted(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    add_training(&c, 0.6);
    add_routes(&c);
    TrainingResult base = compare_trained(&c, c.variant), own = compare_trained(&c, &c.variant[1]);
    assert_true(compare_executed(&c, c.variant) == c.variant->report->work[TRAINING].flops);
    assert_true(isnan(base.routed.mean) && fabs(own.routed.mean - 0.5) < 1e-9
                && fabs(own.routed.deviation - 0.1) < 1e-9);
    Band b;
    assert_true(band_of(&c, c.variant, SERIES_ROUTED, 4, &b));
    assert_int_equal(b.bins, 0);
    band_free(&b);
    assert_true(band_of(&c, &c.variant[1], SERIES_ROUTED, 4, &b));
    assert_true(fabs(b.mean[0] - 1) < 1e-9 && fabs(b.low[3] - 0.4) < 1e-9
                && fabs(b.high[3] - 0.6) < 1e-9);
    band_free(&b);
    compare_free(&c);
}

static void expect_routes_json(const Comparison *c) {
    size_t n;
    Json j;
    Error e = { 0 };
    char *text = comparison_written(c, compare_json, &n);
    if (json_parse(&j, "json", text, n, 1000000, &e)) fail_msg("%s", e.text);
    const JsonNode *first = json_first(&j, json_get(&j, j.node, "variants")),
                   *second = json_next(&j, first);
    assert_null(json_member(&j, json_get(&j, first, "trained"), "routed"));
    assert_true(
        fabs(json_get_number(&j, json_get(&j, json_get(&j, second, "trained"), "routed"), "mean")
             - 0.5)
        < 1e-9);
    const JsonNode *run = json_first(&j, json_get(&j, json_get(&j, second, "trained"), "runs"));
    assert_int_equal(json_get(&j, run, "routed")->count, STEPS);
    assert_int_equal(json_get(&j, run, "routes")->count, 2);
    json_free(&j);
    free(text);
}

/* A route that took hardly a token at the end, the mean of the seeds: in all three forms. */
static void idle_routes_are_named(void **state) {
    static const char *const says[] = { "took 0.3 %. What takes no token is not trained.\n",
                                        "took 0.3 %. What takes no token is not trained.</p>",
                                        "\"idle_routes\": [{\"site\": \"" };
    void (*const form[])(const Comparison *, Text *) = { compare_text, compare_html, compare_json };
    Comparison c = small_comparison(state, 2, 2);
    add_training(&c, 0.6), add_routes(&c);
    for (int i = 0; i < 6; i++) {
        char *text = comparison_written(&c, form[i % 3], NULL);
        assert_true((i > 2) == !!strstr(text, says[i % 3]));
        free(text);
        for (int s = 0; i == 2 && s < SEEDS; s++)
            c.variant[1].run[s].route[1] = s ? 0 : 0.003 * SEEDS;
    }
    compare_free(&c);
}

static void shares_of_routes_are_shown(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    add_training(&c, 0.6);
    char *page = comparison_written(&c, compare_html, NULL);
    assert_null(strstr(page, "Tokens that routes take"));
    free(page);
    add_routes(&c);
    char *text = comparison_written(&c, compare_text, NULL);
    page = comparison_written(&c, compare_html, NULL);
    page_check_tags(page);
    assert_null(strstr(page, "nan"));
    assert_non_null(strstr(page, "Tokens that routes take"));
    assert_non_null(strstr(page, "<td>50.0 %</td>"));
    assert_non_null(strstr(text, "its routes took 50.0 % of the tokens at the end"));
    free(page), free(text);
    expect_routes_json(&c);
    Variant swapped = c.variant[0]; /* now the baseline has the routes */
    c.variant[0] = c.variant[1], c.variant[1] = swapped;
    text = comparison_written(&c, compare_text, NULL);
    assert_non_null(strstr(text, "'s took 50.0 %, FLOPs of training with these: "));
    free(text);
    compare_free(&c);
}

static void runs_are_compared_seed_by_seed(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    add_training(&c, 0.6);
    TrainingResult base = compare_trained(&c, c.variant), own = compare_trained(&c, &c.variant[1]);
    assert_true(fabs(base.end.mean - 1.6) < 1e-9 && fabs(base.end.deviation - 0.1) < 1e-9);
    assert_true(base.difference.mean == 0 && base.matched == SEEDS && base.seconds.mean == 30);
    assert_true(fabs(own.difference.mean + 0.601) < 1e-9 && !stats_covers_zero(&own.difference));
    assert_true(own.matched == SEEDS && own.seconds.mean == 20); /* its second evaluation */
    Band b;
    assert_true(band_of(&c, c.variant, SERIES_LOSS, 4, &b));
    assert_true(fabs(b.mean[0] - (3 - 0.03 * 4.5 + 0.01)) < 1e-9
                && fabs(b.high[3] - b.low[3] - 0.02) < 1e-9 && b.seconds[3] == STEPS);
    band_free(&b);
    for (int s = 0; s < SEEDS; s++)
        for (int k = 0; k < EVALUATIONS; k++)
            c.variant[1].run[s].value[k] += 1;
    own = compare_trained(&c, &c.variant[1]);
    assert_int_equal(own.matched, 0);
    char *text = comparison_written(&c, compare_text, NULL);
    assert_non_null(strstr(text, "never as low as 0.lua's lowest"));
    assert_non_null(strstr(text, "        never "));
    free(text);
    for (int k = 0; k < EVALUATIONS - 1; k++) /* one seed gets there, two do not */
        c.variant[1].run[0].value[k] -= 1;
    text = comparison_written(&c, compare_text, NULL);
    assert_non_null(strstr(text, "20 s 1/3"));
    free(text);
    compare_free(&c);
}

/* As many values as a paired t test needs for four of five: of one deviation 10 or so, of half of
** one 34, and never fewer than two. */
static void seeds_that_would_show_it(void **state) {
    (void)state;
    Estimate e = { .mean = 1, .deviation = 1, .known = true };
    assert_in_range(stats_needed(&e), 9, 11);
    e.mean = -0.5;
    assert_in_range(stats_needed(&e), 33, 35);
    e.mean = 1000;
    assert_int_equal(stats_needed(&e), 2);
    assert_true(stats_shown(&e, 10) > 0.9 && stats_shown(&e, 10) < 1.1);
    assert_true(isnan(stats_shown(&e, 1)));
    e.known = false;
    assert_int_equal(stats_needed(&e), 0);
}

static void verdict_is(void **state, double slower, double better, const char *time,
                       const char *loss) {
    Comparison c = small_comparison(state, 2, 2);
    add_times(&c, slower);
    add_training(&c, better);
    Text t = { 0 };
    compare_verdict(&c, &t);
    if (!strstr(t.at, time) || !strstr(t.at, loss))
        fail_msg("expected %s and %s, found %s", time, loss, t.at);
    text_free(&t);
    compare_free(&c);
}

static void what_is_not_detected_is_said(void **state) {
    verdict_is(state, 0, 0, "; as fast per step (could be -1.2 % to +",
               ": loss not distinguishable from 0.lua ");
    verdict_is(state, 0, 0, " 3 seeds show differences of ", " (four times in five).\n");
    verdict_is(
        state, 0.5, 0.6, "; a step takes 51 % longer (+4",
        "'s by 0.6 (0.6 to 0.6 with 3 seeds), as low as 0.lua's lowest after 242 s of training, ");
    verdict_is(state, -0.5, -0.6, "; a step takes 50 % less time (-",
               "'s by 0.6 (0.6 to 0.6 with 3 seeds), never as low as 0.lua's lowest; ");
}

/* Where no loss differs, neither a percentage of it nor a time until it is told. */
static void what_is_not_detected_has_no_number(void **state) {
    for (int better = 0; better < 2; better++) {
        Comparison c = small_comparison(state, 2, 2);
        add_times(&c, 0.4 * better);
        add_training(&c, 0.6 * better);
        char *text = comparison_written(&c, compare_text, NULL),
             *page = comparison_written(&c, compare_html, NULL);
        assert_int_equal(strstr(text, "time to the baseline's lowest") != NULL, better);
        assert_int_equal(strstr(page, "time to the baseline's lowest") != NULL, better);
        assert_int_equal(strstr(text, "seeds show differences of ") != NULL, !better);
        assert_int_equal(strstr(page, "not reached") != NULL, false);
        for (int i = 0; i < compare_nmetric; i++) {
            char to[32];
            const Metric *m = &compare_metrics[i];
            compare_told_difference(to, &c, m, &c.variant[1]);
            if (m->sampled == SAMPLED_SPREAD) assert_string_equal(to, "");
            else if (m->sampled == SAMPLED_NOT) assert_string_not_equal(to, "~");
            else if (better) assert_non_null(strchr(to, '%'));
            else assert_null(strchr(to, '%'));
        }
        assert_int_equal(page_count(page, " \xe2\x89\x88</small></td>"), better ? 0 : 2);
        free(text), free(page);
        compare_free(&c);
    }
}

static void a_busy_machine_is_told(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    add_times(&c, 0);
    for (int busy = 0; busy < 2; busy++) {
        c.made.processors = 2, c.made.load = busy ? 12 : 0.1;
        char *text = comparison_written(&c, compare_text, NULL),
             *page = comparison_written(&c, compare_html, NULL);
        assert_int_equal(strstr(text, "load 12 on 2 processors") != NULL, busy);
        assert_int_equal(strstr(page, "class=\"warning\">load 12 on 2 processors") != NULL, busy);
        free(text), free(page);
    }
    compare_free(&c);
}

/* 1e11 FLOP/s and 1e10 bytes/s of the machine: a kernel that takes no time is above both. */
static void nothing_is_over_a_hundred_percent_of_a_roof(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    add_times(&c, 0);
    for (int fast = 0; fast < 2; fast++) {
        for (int i = 0; i < c.n; i++)
            for (int k = 0; fast && k < ROUNDS * c.variant[i].report->nkernel; k++)
                c.variant[i].timing.kernel[k] = 2e-6;
        char *page = comparison_written(&c, compare_html, NULL);
        assert_int_equal(page_count(page, "<td>in cache</td>") > 0, fast);
        for (const char *at = page; (at = strstr(at, " %</td>")); at++) {
            const char *from = at;
            while (from[-1] >= '0' && from[-1] <= '9')
                from--;
            if (from[-1] == '>' && from < at) assert_true(atoi(from) <= 100);
        }
        free(page);
    }
    compare_free(&c);
}

/* One value of 100 at the beginning does not press the others together, and is told. */
static void what_is_far_off_is_marked(void **state) {
    Comparison c = small_comparison(state, 2, 2);
    add_training(&c, 0.1);
    for (int far = 0; far < 3; far++) {
        if (far) c.variant[2 - far].run[0].loss[0] = 100;
        char *page = comparison_written(&c, compare_html, NULL);
        const char *plot = strstr(page, "Loss at equal tokens");
        assert_int_equal(strstr(plot, "cut off above ") != NULL, far > 0);
        assert_int_equal(strstr(plot, " up to 100</span>") != NULL, far > 0);
        assert_int_equal(strstr(plot, ": up to 100</title>") != NULL, far > 0);
        assert_null(strstr(plot, ">80</text>"));
        free(page);
    }
    compare_free(&c);
}

/* Three or more are not named one by one. */
static void all_far_off_are_told_at_once(void **state) {
    Comparison c = small_comparison(state, 3, 2);
    add_training(&c, 0.1);
    for (int i = 0; i < 3; i++) {
        c.variant[i].run[0].loss[0] = 100 + i;
        char *page = comparison_written(&c, compare_html, NULL);
        assert_int_equal(strstr(page, ": all go there, up to 102</span>") != NULL, i == 2);
        assert_int_equal(strstr(page, "2.lua up to 102") != NULL, false);
        free(page);
    }
    compare_free(&c);
}

static void times_and_curves_are_shown(void **state) {
    Comparison c = small_comparison(state, SMALL_RESIDUALS, 2);
    add_times(&c, 0.1);
    add_training(&c, 0.1);
    size_t n;
    Json j;
    Error e = { 0 };
    char *page = comparison_written(&c, compare_html, &n),
         *text = comparison_written(&c, compare_text, NULL);
    page_check_tags(page);
    assert_true(n < 2000000);
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "inf"));
    assert_non_null(strstr(page, "Loss at equal tokens"));
    assert_non_null(strstr(page, "Loss at equal time"));
    assert_non_null(strstr(page, "Validation loss: difference to 0.lua"));
    assert_non_null(strstr(page, "share of roof"));
    assert_non_null(strstr(page, "Kernels line by line"));
    assert_non_null(strstr(page, "GFLOP/s"));
    assert_non_null(strstr(text, "kernels: time of a step, noise"));
    free(page), free(text);
    text = comparison_written(&c, compare_json, &n);
    if (json_parse(&j, "json", text, n, 1000000, &e)) fail_msg("%s", e.text);
    const JsonNode *last = json_first(&j, json_get(&j, j.node, "variants"));
    for (int i = 1; i < SMALL_RESIDUALS; i++)
        last = json_next(&j, last);
    const JsonNode *measured = json_get(&j, last, "measured"),
                   *trained = json_get(&j, last, "trained");
    assert_int_equal(json_get(&j, measured, "seconds")->count, ROUNDS);
    assert_true(fabs(json_get_number(&j, json_get(&j, measured, "slower"), "mean") - 0.7) < 0.02);
    assert_int_equal(json_get(&j, trained, "runs")->count, SEEDS);
    assert_int_equal(json_get(&j, json_first(&j, json_get(&j, trained, "runs")), "val_loss")->count,
                     EVALUATIONS);
    json_free(&j);
    free(text);
    compare_free(&c);
}

/* == Statistics =========================================================== */

static void intervals_are_those_of_student(void **state) {
    (void)state;
    static const double x[] = { 4, 5, 6, 7, 8 }, y[] = { 2, 2.5, 3, 3.5, 4 };
    double many[40];
    Estimate e = stats_mean(x, 5); /* deviation 1.5811; t(4) = 2.7764 */
    assert_true(e.known && e.mean == 6 && fabs(e.deviation - 1.58114) < 1e-5);
    assert_true(fabs(e.low - (6 - 1.96324)) < 1e-4 && fabs(e.high - (6 + 1.96324)) < 1e-4);
    for (int i = 0; i < 40; i++)
        many[i] = i % 2 ? 1 : -1;
    e = stats_mean(many, 40); /* deviation 1.01274; t(39) = 2.02269 */
    assert_true(fabs(e.high - 2.02269 * 1.012739 / sqrt(40)) < 1e-4 && stats_covers_zero(&e));
    e = stats_ratio(x, y, 5);
    assert_true(e.known && fabs(e.mean - 1) < 1e-12 && fabs(e.low - 1) < 1e-9
                && !stats_covers_zero(&e));
    e = stats_mean(x, 1);
    assert_true(!e.known && stats_covers_zero(&e));
    assert_true(stats_median(x, 5) == 6 && stats_median(x, 4) == 5.5 && isnan(stats_median(x, 0)));
}

/* Whatever its rounds took; with another library the work is done by other code. */
static void the_same_work_has_no_difference(void **state) {
    for (int blas = 0; blas < 2; blas++) {
        Comparison c = small_comparison(state, 2, 2);
        add_times(&c, 0.5);
        if (blas) c.variant[0].blas = "generated", c.variant[1].blas = "openblas";
        int n, same = 0;
        Role *role = compare_roles(&c, &n);
        assert_non_null(role);
        for (int i = 0; i < n; i++) {
            char to[32];
            const RoleWork *w = &role[i].of[1];
            bool both = isfinite(w->seconds) && isfinite(role[i].of[0].seconds);
            if (both && !role_differs(&c, &role[i])) same++;
            bool compared = both && (blas || role_differs(&c, &role[i]));
            assert_int_equal(*role_slower(to, w) != 0, compared);
        }
        assert_true(same > 3);
        free(role);
        compare_free(&c);
    }
}

/* Winsorized deviation 0.0173205; t(4) = 2.7764 */
static void a_round_in_which_others_worked_does_not_count(void **state) {
    (void)state;
    static const double logs[] = { 0.01, -0.02, 0.03, 0, 2, 0.02, -0.01 };
    double x[7], base[7];
    for (int i = 0; i < 7; i++)
        base[i] = 3 + i, x[i] = base[i] * exp(logs[i]);
    Estimate e = stats_ratio(x, base, 7);
    assert_true(e.known && fabs(e.mean - expm1(0.01)) < 1e-9
                && fabs(e.deviation - 0.0173205) < 1e-6);
    assert_true(fabs(e.low - expm1(0.01 - 0.0254466)) < 1e-6);
    assert_true(fabs(e.high - expm1(0.01 + 0.0254466)) < 1e-6);
    e = stats_ratio(x, base, 6); /* too few: all count */
    assert_true(fabs(e.mean - expm1(2.04 / 6)) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_in_which_others_worked_does_not_count),
        cmocka_unit_test_setup_teardown(the_same_work_has_no_difference, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(shares_of_routes_are_counted, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(idle_routes_are_named, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(shares_of_routes_are_shown, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(runs_are_compared_seed_by_seed, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(what_is_not_detected_is_said, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(what_is_not_detected_has_no_number, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_busy_machine_is_told, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(nothing_is_over_a_hundred_percent_of_a_roof, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(what_is_far_off_is_marked, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(all_far_off_are_told_at_once, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(times_and_curves_are_shown, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(intervals_are_those_of_student),
        cmocka_unit_test(seeds_that_would_show_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
