/* SPDX-License-Identifier: MIT
** What training's progress knows of speed; how it looks is in tests of programs. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evaluate_watch.h"
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

/* What matters most stays: the bar shrinks, then the least important goes, then the bar. */
static void narrow_terminals(void **state) {
    (void)state;
    static const struct {
        int columns;
        const char *line;
    } row[] = {
        { 200,
          "[#######.................] step 129/400  loss 2.2532  41s left  3097 tokens/s  "
          "epoch 0.52  29% of peak" },
        { 100,
          "[######...............] step 129/400  loss 2.2532  41s left  3097 tokens/s  epoch "
          "0.52  29% of peak" },
        { 80, "[####..........] step 129/400  loss 2.2532  41s left  3097 tokens/s  epoch 0.52" },
        { 66, "[###.........] step 129/400  loss 2.2532  41s left  3097 tokens/s" },
        { 40, "step 129/400  loss 2.2532  41s left" },
        { 20, "step 129/400  loss 2.2532  41s left" },
    };
    Progress p = { .steps = 400, .plain = true, .epoch = 0.52, .seconds = 0.15, .peak = 100 };
    p.tokens = 3097 * p.seconds, p.flops = 29 * p.seconds;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Text t = { 0 };
        progress_line(&p, 129, 2.2532, row[i].columns, &t);
        assert_string_equal(t.at, row[i].line);
        text_free(&t);
    }
    Text t = { 0 }; /* a small share has a cause that is told with it */
    p.load = 12;
    progress_line(&p, 129, 2.2532, 200, &t);
    assert_non_null(strstr(t.at, "  29% of peak, load 12"));
    text_free(&t);
}

/* What eval tells of so many windows, 'seconds' after it last told something. */
static void watched(EvalWatch *x, double seconds, int64_t windows, const char *told) {
    char text[512] = "";
    FILE *f = tmpfile();
    int before = dup(STDERR_FILENO);
    assert_non_null(f);
    fflush(stderr);
    dup2(fileno(f), STDERR_FILENO);
    x->told -= seconds;
    x->begun = x->told;
    eval_watch(x, windows, 50, 25);
    dup2(before, STDERR_FILENO);
    close(before);
    assert_true(lseek(fileno(f), 0, SEEK_SET) == 0);
    ssize_t n = read(fileno(f), text, sizeof text - 1);
    fclose(f);
    if (*told) assert_non_null(strstr(text, told));
    else assert_int_equal(n, 0);
}

/* Windows of all sources in both forms; nothing soon after it began. */
static void eval_tells(void **state) {
    (void)state;
    DataSource source[2] = { { .count = 161 }, { .count = 81 } };
    Data d = { .source = source, .sources = 2 };
    EvalWatch x;
    eval_watch_open(&x, &d, 16, 2);
    assert_int_equal(x.progress.steps, 2 * (10 + 5));
    x.progress.terminal = false;
    watched(&x, 0, 4, "");
    watched(&x, 10, 6, "window 10/30  loss 2.0000  ");
    watched(&x, 0, 4, "");
    x.progress.terminal = true;
    watched(&x, 1, 1, "\r\033[K");
    x.progress.plain = true;
    watched(&x, 1, 1, "] window 16/30  loss 2.0000  ");
    eval_watch_close(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_smoothed),
        cmocka_unit_test(a_peak_below_the_rate_is_noticed),
        cmocka_unit_test(narrow_terminals),
        cmocka_unit_test(eval_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
