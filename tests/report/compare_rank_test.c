/* SPDX-License-Identifier: MIT
** strata compare: what variants are called, in which order they are told, and which differences
** several comparisons leave.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_get.h"
#include "page_check.h"
#include "scratch.h"
#include "small_comparison.h"

/* == Names ================================================================ */

enum { VARIANTS = 4, OPTIONS = 3 };

/* Of variants: the model's name, its file, and values of the options below; NULL: it has none. */
typedef struct NamedCase {
    const char *model[VARIANTS], *file[VARIANTS], *value[VARIANTS][OPTIONS];
    const char *blas[VARIANTS];
    const char *label[VARIANTS];
    const char *shared;
} NamedCase;

static const char *const option_name[OPTIONS] = { "mixer", "width", "gate" };

static const NamedCase named[] = {
    /* one option of words: the values, the default's too */
    { { "five", "five", "five" },
      { "five.lua", "five.lua", "five.lua" },
      { { "plain", "64" }, { "attnres", "64" }, { "haares", "64" } },
      { 0 },
      { "plain", "attnres", "haares" },
      "five" },
    /* a number or a truth value says nothing alone */
    { { "m", "m" },
      { "m.lua", "m.lua" },
      { { "x", "64" }, { "x", "128" } },
      { 0 },
      { "width=64", "width=128" },
      "m" },
    { { "m", "m" },
      { "m.lua", "m.lua" },
      { { 0, 0, "true" }, { 0, 0, "false" } },
      { 0 },
      { "gate=true", "gate=false" },
      "m" },
    /* two options: each with its name */
    { { "m", "m", "m" },
      { "m.lua", "m.lua", "m.lua" },
      { { "a", "1" }, { "b", "1" }, { "b", "2" } },
      { 0 },
      { "mixer=a, width=1", "mixer=b, width=1", "mixer=b, width=2" },
      "m" },
    /* models' names without the words that all have */
    { { "standard_small_48", "mhc_small_48", "haares_small_48" },
      { "c.lua", "c.lua", "c.lua" },
      { { "standard" }, { "mhc" }, { "haares" } },
      { 0 },
      { "standard", "mhc", "haares" },
      "small_48" },
    { { "net-plain", "net-planar" },
      { "a.lua", "b.lua" },
      { { 0 } },
      { 0 },
      { "plain", "planar" },
      "" },
    /* but not where only a number would be left, or nothing */
    { { "small-8", "small-12" },
      { "a.lua", "b.lua" },
      { { 0 } },
      { 0 },
      { "small-8", "small-12" },
      "" },
    { { "small", "small_wide" },
      { "a.lua", "b.lua" },
      { { 0 } },
      { 0 },
      { "small", "small_wide" },
      "" },
    /* what the name does not say */
    { { "plain", "haares" },
      { "m.lua", "m.lua" },
      { { "plain", "1" }, { "haares", "2" } },
      { 0 },
      { "plain (width=1)", "haares (width=2)" },
      "" },
    /* files of models of one name */
    { { "m", "m" }, { "specs/a.lua", "specs/b.lua" }, { { 0 } }, { 0 }, { "a.lua", "b.lua" }, "m" },
    { { "m", "m" }, { "a/m.lua", "b/m.lua" }, { { 0 } }, { 0 }, { "a/m.lua", "b/m.lua" }, "m" },
    { { "m", "m", "m" },
      { "m.lua", "m.lua", "wide.lua" },
      { { "x" }, { "y" }, { 0 } },
      { 0 },
      { "x", "y", "m" },
      "m" },
    /* nothing differs */
    { { "m", "m" }, { "m.lua", "m.lua" }, { { "x" }, { "x" } }, { 0 }, { "m (1)", "m (2)" }, "m" },
    { { "m", "m" },
      { "m.lua", "m.lua" },
      { { 0 } },
      { "generated", "openblas" },
      { "m, generated", "m, openblas" },
      "m" },
};

static void take_case(Comparison *c, const NamedCase *x, SpecOption option[VARIANTS][OPTIONS]) {
    c->n = 0;
    while (c->n < VARIANTS && x->model[c->n])
        c->n++;
    for (int i = 0; i < c->n; i++) {
        Model *m = c->variant[i].report->model;
        m->name = x->model[i], m->file = x->file[i];
        m->option = option[i], m->noption = OPTIONS;
        c->variant[i].blas = x->blas[i];
        for (int k = 0; k < OPTIONS; k++)
            option[i][k] = (SpecOption){ .name = option_name[k], .value = x->value[i][k] };
    }
}

static void names_leave_out_what_is_shared(void **state) {
    Comparison c = small_comparison(state, VARIANTS, 1);
    SpecOption option[VARIANTS][OPTIONS];
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        take_case(&c, &named[i], option);
        compare_name(&c);
        for (int k = 0; k < c.n; k++)
            assert_string_equal(c.variant[k].label, named[i].label[k]);
        if (*named[i].shared) assert_string_equal(c.shared, named[i].shared);
    }
    c.n = VARIANTS;
    for (int i = 0; i < c.n; i++)
        c.variant[i].report->model->noption = 0, c.variant[i].report->model->option = NULL;
    compare_free(&c);
}

/* == Statistics =========================================================== */

/* From tables of Student's t: two-sided chances at its quantiles. */
static void chances_are_those_of_student(void **state) {
    (void)state;
    static const struct {
        double t;
        int degrees;
        double chance;
    } known[] = { { 12.7062, 1, 0.05 },  { 4.30265, 2, 0.05 },  { 9.92484, 2, 0.01 },
                  { 3.18245, 3, 0.05 },  { 2.77645, 4, 0.05 },  { 2.57058, 5, 0.05 },
                  { 3.16927, 10, 0.01 }, { 2.13145, 15, 0.05 }, { 2.04523, 29, 0.05 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double x = stats_chance(known[i].t, known[i].degrees);
        assert_true(fabs(x / known[i].chance - 1) < 1e-4);
        assert_true(x == stats_chance(-known[i].t, known[i].degrees));
    }
    assert_true(stats_chance(0, 3) == 1);
    assert_true(stats_chance(1e6, 7) < 1e-12);
    /* the interval leaves out 0 where the chance is below 0.05 */
    for (int n = 2; n < 30; n++)
        for (int k = 1; k < 40; k++) {
            double x[30];
            for (int i = 0; i < n; i++)
                x[i] = 0.1 * k + (i % 2 ? 1 : -1);
            Estimate e = stats_mean(x, n);
            if (fabs(e.chance - 0.05) > 1e-4)
                assert_true((e.chance < 0.05) == !stats_covers_zero(&e));
        }
}

/* Holm's own order: the smallest times all, the next times one fewer, never less than before. */
static void chances_are_corrected(void **state) {
    (void)state;
    static const double chance[] = { 0.04, 0.01, 0.03, 0.005 },
                        expected[] = { 0.06, 0.03, 0.06, 0.02 }, alike[] = { 0.02, 0.02 },
                        one[] = { 0.04 }, large[] = { 0.9, 0.8 };
    double to[4];
    stats_holm(chance, 4, to);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(to[i] - expected[i]) < 1e-12);
    stats_holm(alike, 2, to);
    assert_true(to[0] == 0.04 && to[1] == 0.04);
    stats_holm(one, 1, to);
    assert_true(to[0] == 0.04);
    stats_holm(large, 2, to);
    assert_true(to[0] == 1 && to[1] == 1);
}

/* == The sentence ========================================================= */

static char *ranked(const Comparison *c) {
    Text t = { 0 };
    compare_ranking(c, &t);
    assert_false(t.failed);
    return t.at;
}

static void name_all(Comparison *c) {
    static const char *const name[] = { "plain", "b", "a", "d" };
    for (int i = 0; i < c->n; i++)
        strcpy(c->variant[i].label, name[i]);
}

/* The loss at the end of every seed, as it deviates over seeds. */
static void set_losses(Comparison *c, const double *loss, double deviation) {
    for (int i = 0; i < c->n; i++)
        for (int s = 0; s < SEEDS; s++)
            c->variant[i].run[s].value[EVALUATIONS - 1] = loss[i]
                + (i ? deviation * (s - 1) * (i % 2 ? 1 : -1) : 0);
}

static void expect(const Comparison *c, const char *words) {
    char *text = ranked(c);
    if (!strstr(text, words)) fail_msg("expected '%s', found '%s'", words, text);
    free(text);
}

static void the_lowest_comes_first(void **state) {
    static const double loss[] = { 2.5, 2.75, 2.25, 2.50001 };
    Comparison c = small_comparison(state, 4, 1);
    add_training(&c, 0);
    name_all(&c);
    set_losses(&c, loss, 1e-4);
    expect(&c,
           "Lowest loss: a 2.250, then plain 2.500, d 2.500, b 2.750 (means of 3 seeds); only a "
           "and b differ from plain, of d no difference is detected (3 comparisons, Holm's "
           "correction).");
    set_losses(&c, loss, 10);
    expect(&c, "; no difference from plain is detected (3 comparisons, Holm's correction).");
    static const double apart[] = { 2.5, 2.75, 2.25, 3 };
    set_losses(&c, apart, 1e-4);
    expect(&c, "; all differ from plain (3 comparisons, Holm's correction).");
    c.n = 2;
    expect(&c, "Lowest loss: plain 2.500, then b 2.750 (means of 3 seeds); b differs from plain.");
    c.seeds = 1;
    expect(&c, "(one seed, which tells nothing of differences).");
    c.seeds = SEEDS, c.n = 4;
    compare_free(&c);
}

/* t = 5.2: 0.035 alone, which three comparisons do not leave. */
static void several_intervals_are_several(void **state) {
    static const double loss[] = { 2.5, 2.8, 2.5, 2.5 };
    Comparison c = small_comparison(state, 4, 1);
    add_training(&c, 0);
    name_all(&c);
    set_losses(&c, loss, 0.1);
    Estimate e = compare_difference_of(&c, &c.variant[1], FAMILY_LOSS);
    assert_true(!stats_covers_zero(&e) && fabs(e.chance - 0.0351) < 1e-3);
    assert_true(fabs(compare_corrected(&c, &c.variant[1], FAMILY_LOSS) - 3 * e.chance) < 1e-12);
    assert_false(compare_detected(&c, &c.variant[1], FAMILY_LOSS));
    expect(&c, "; no difference from plain is detected");
    char *text = comparison_written(&c, compare_text, NULL),
         *page = comparison_written(&c, compare_html, NULL),
         *json = comparison_written(&c, compare_json, NULL);
    assert_non_null(strstr(text, "with 3 seeds: too little among several comparisons)"));
    assert_non_null(strstr(text, "of 3, one or more miss in up to 15 of 100"));
    assert_non_null(strstr(page, "of 3, one or more miss in up to 15 of 100"));
    assert_non_null(strstr(json, "\"detected_of_all\": false"));
    assert_null(strstr(json, "\"detected_of_all\": true"));
    free(text), free(page), free(json);
    c.n = 2; /* alone it is one */
    assert_true(compare_detected(&c, &c.variant[1], FAMILY_LOSS));
    text = comparison_written(&c, compare_text, NULL);
    assert_null(strstr(text, "one or more miss"));
    free(text);
    c.n = 4;
    compare_free(&c);
}

static void times_are_ranked_too(void **state) {
    Comparison c = small_comparison(state, 3, 1);
    name_all(&c);
    expect(&c, "Fewest bytes moved by a token in training: plain ");
    expect(&c, "Nothing was trained (--train) or measured (--measure).");
    add_times(&c, 0.5);
    expect(&c,
           "Shortest step: plain 1.01 s, then b 1.52 s, a 2.02 s; all differ from plain (2 "
           "comparisons, Holm's correction).");
    compare_free(&c);
}

/* The answer, then the picture, then what was measured, then what was counted. */
static void the_page_begins_with_the_answer(void **state) {
    Comparison c = small_comparison(state, 3, 1);
    add_training(&c, 0.1), add_times(&c, 0.1);
    static const char *const order[] = { "<p class=\"first\">Lowest loss: ",
                                         "one or more miss",
                                         "Loss against time per step",
                                         "<h2>Measured</h2>",
                                         "<h2>Counted</h2>",
                                         "<h2>Training</h2>" };
    char *page = comparison_written(&c, compare_html, NULL), *at = page;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        if (!at) fail_msg("expected '%s' there", order[i]);
    }
    assert_null(strstr(page, "<h2>Numbers</h2>"));
    assert_int_equal(page_count(page, "class=\"whole\""),
                     3 + 2 + 3); /* ends of two kinds of plots */
    free(page);
    compare_free(&c);
}

/* == Terminals ============================================================ */

static int characters(const char *from, const char *to) {
    int n = 0;
    for (; from < to; from++)
        n += ((unsigned char)*from & 0xc0) != 0x80;
    return n;
}

/* No row is longer than the terminal's, whatever variants are called; names are not cut inside of
** brackets. */
static void rows_fit_the_terminal(void **state) {
    static const int columns[] = { 40, 50, 60, 80, 100, 120, 200 };
    static const char *const label[] = { "plain", "attnres (width=128, depth=4)",
                                         "averyveryverylongnameofoneword",
                                         "d\xc3\xa4mpfung, mixer=haares, width=64" };
    Comparison c = small_comparison(state, 4, 1);
    add_training(&c, 0.1), add_times(&c, 0.1);
    c.made.processors = 2, c.made.load = 12;
    for (int i = 0; i < c.n; i++)
        strcpy(c.variant[i].label, label[i]);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        c.columns = columns[k];
        char *text = comparison_written(&c, compare_text, NULL);
        for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
            if (characters(line, end) > c.columns)
                fail_msg("%d columns, found %.*s", c.columns, (int)(end - line), line);
        assert_non_null(strstr(text, " 2 attnres.."));
        assert_null(strstr(text, "(width.."));
        assert_null(strstr(text, "width=128.."));
        int blocks = page_count(text, "measured "),
            widest = columns[k] >= 102 ? 3
            : columns[k] >= 78         ? 2
                                       : 1;
        assert_int_equal(blocks, (c.n + widest - 1) / widest);
        free(text);
    }
    compare_free(&c);
}

/* However losses and times lie: close together, far apart, all the same. */
static void names_are_on_nothing(void **state) {
    static const double loss[][4] = { { 2.5, 2.75, 2.25, 3 },
                                      { 2.5, 2.5001, 2.4999, 2.5002 },
                                      { 2, 2, 2, 2 },
                                      { 0.001, 0.002, 0.0001, 9 } },
                        slower[] = { 0, 1e-4, 0.1, 3 };
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            Comparison c = small_comparison(state, 4, 1);
            add_training(&c, 0);
            if (k) add_times(&c, slower[k]);
            name_all(&c);
            for (int v = 0; v < c.n; v++)
                for (int s = 0; s < SEEDS; s++)
                    for (int at = 0; at < EVALUATIONS; at++)
                        c.variant[v].run[s].value[at] = loss[i][v] * (1 + 0.01 * s);
            char *page = comparison_written(&c, compare_html, NULL);
            page_check_labels(page);
            assert_non_null(strstr(page, "Loss against time per step"));
            free(page);
            compare_free(&c);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_leave_out_what_is_shared, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(chances_are_those_of_student),
        cmocka_unit_test(chances_are_corrected),
        cmocka_unit_test_setup_teardown(the_lowest_comes_first, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(several_intervals_are_several, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(times_are_ranked_too, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(rows_fit_the_terminal, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(names_are_on_nothing, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(the_page_begins_with_the_answer, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
