/* SPDX-License-Identifier: MIT
** What the command train keeps: another run's weights, the best beside the newest, the way on
** after its last step or a signal, and where its data is.
*/
#include "test.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "json.h"
#include "mock_model.h"
#include "program_run.h"

static Folder folder;
static Ran ran;

static const strata_api *scheduled(int32_t schedule) {
    MockOptions o = {
        .tokenizer = "chars", .vocab = 24, .context = 16, .batch = 4, .schedule = schedule
    };
    return mock_api(&o);
}

static int open_folder(void **state) {
    (void)state;
    char text[2001];
    static const char *const word[] = { "abba ", "cade ", "fig ", "bag " };
    size_t n = 0;
    for (uint32_t i = 1; n + 8 < sizeof text; i = i * 1664525u + 1013904223u)
        n += (size_t)sprintf(text + n, "%s", word[i >> 28 & 3]);
    folder_open(&folder);
    folder_write(&folder, "text", text, n);
    folder_write(&folder, "more", "a bag of figs", 13);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* Runs it on a model of that schedule; 0 is constant, 1 cosine. */
static void run(int32_t schedule, int status, const char *words) {
    program_run(&ran, scheduled(schedule), &folder, NULL, words);
    if (ran.status != status)
        fail_msg("'%s': status %d, expected %d\n%s%s", words, ran.status, status, ran.out, ran.err);
}

static void says(const char *text, const char *in) {
    if (!strstr(in, text)) fail_msg("expected '%s' in '%s'", text, in);
}

/* A number of step 'step' in a log; NAN: none. */
static double logged(const char *name, const char *key, int64_t step) {
    char *text = folder_read(&folder, name, NULL), *at = text;
    double found = NAN;
    for (char *line; text && (line = strsep(&at, "\n")) && *line;) {
        Json j = { 0 };
        int64_t s = 0;
        assert_int_equal(json_parse(&j, name, line, strlen(line), 1000, NULL), 0);
        const JsonNode *n = json_member(&j, j.node, "step"), *k = json_member(&j, j.node, key);
        if (n && k && json_int64(n, &s) && s == step) json_double(k, &found);
        json_free(&j);
    }
    free(text);
    return found;
}

/* What a file says of its run. */
static Checkpoint about(const char *name) {
    char path[300];
    Safetensors s;
    Checkpoint c;
    Error e = { 0 };
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    if (safetensors_open(&s, path, &e)) fail_msg("%s", e.text);
    if (!checkpoint_about(&s, &c)) fail_msg("%s: expected it to tell of a run", name);
    c.words = NULL;
    safetensors_close(&s);
    return c;
}

static bool is_there(const char *name) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder.path, name);
    return !access(path, F_OK);
}

/* B1: no second run destroys what a first one made. */
static void another_run_is_left_alone(void **state) {
    (void)state;
    static const struct {
        const char *words, *says;
    } row[] = {
        { "train --data text --steps 250 --seed 9",
          "mock.safetensors holds step 30 of another run: "
          "expected --resume, another --out, or "
          "--overwrite" },
        { "train --data text more --steps 30", "step 30 of another run" },
        { "train --data text --steps 30 --lr 0.5", "step 30 of another run" },
        { "train --data text --steps 30 --init other", "step 30 of another run" },
        { "train --data text --steps 20", "step 30 of this run" },
        { "train --data text --minutes 1", "step 30 of this run" },
        { "train --data text --out more", "more holds something else than weights" },
        { "train --data text --out bare", "bare holds weights that do not say of which run" },
        { "train --data text --out only", "only.prev holds step 2 of another run" },
        { "train --data text --val more --out best", "best.best holds step " },
        { "train --data text --out best", "best.best holds step " },
        { "train --data text --val more --no-best --out best", "best.best holds step " },
        { "train --data text --out none", "none.prev holds step 2 of another run" },
    };
    TensorList none = { 0 };
    char path[300];
    snprintf(path, sizeof path, "%s/bare", folder.path);
    assert_int_equal(safetensors_write(path, &none, NULL, 0, 0, NULL), 0);
    run(0, 0, "train --data text --steps 30");
    run(0, 0, "train --data text --steps 2 --save-every 1 --out other --seed 8");
    folder_shell(&folder,
                 "cp mock.safetensors kept; cp other only.prev; "
                 "cp other none.prev; : >none");
    run(0, 0, "train --data text --val more --steps 3 --seed 8 --out best");
    folder_shell(&folder, "rm best");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run(0, 1, row[i].words);
        says(row[i].says, ran.err);
        assert_true(folder_same(&folder, "kept", "mock.safetensors"));
    }
}

static void the_same_run_and_what_is_asked_for(void **state) {
    (void)state;
    run(0, 0, "train --data text --steps 30"); /* the same, from the beginning */
    assert_true(folder_same(&folder, "kept", "mock.safetensors"));
    run(0, 2, "train --data text --overwrite --resume");
    run(0, 0, "train --data text --steps 2 --seed 9 --overwrite");
    assert_int_equal(about("mock.safetensors").seed, 9);
    assert_false(is_there("mock.safetensors.prev"));
    /* untrained weights are nobody's work, an empty file is nothing */
    run(0, 0, "train --data text --steps 0 --out begun");
    run(0, 0, "train --data text --steps 2 --seed 3 --out begun");
    folder_write(&folder, "empty", "", 0);
    run(0, 0, "train --data text --steps 2 --out empty");
}

/* --overwrite takes the best and the one before of the run that goes, no earlier than with the
** first checkpoint. */
static void overwriting_leaves_nothing_behind(void **state) {
    (void)state;
    static const char first[] =
        "train --data text --val more --steps 6 --eval-every 2 --save-every 2 "
        "--out o";
    run(0, 0, first);
    folder_shell(&folder, "cp o o.kept; cp o.best o.best.kept; cp o.prev o.prev.kept");
    run(0, 0, first); /* the same again */
    assert_true(folder_same(&folder, "o.best", "o.best.kept"));
    assert_true(folder_same(&folder, "o.prev", "o.prev.kept"));
    run(0, 1, "train --data text --steps 3 --out o --overwrite --log nowhere/log");
    assert_true(folder_same(&folder, "o", "o.kept")
                && folder_same(&folder, "o.best", "o.best.kept"));
    run(0, 0, "train --data text --steps 3 --save-every 2 --out o --overwrite");
    says("o.best: removed with the run that was replaced\n", ran.out);
    assert_false(is_there("o.best"));
    assert_int_equal(about("o.prev").step, 2);
    assert_string_equal(about("o.prev").run, about("o").run);
    run(0, 0, "train --data text --steps 2 --out o --overwrite");
    assert_false(strstr(ran.out, "removed") || is_there("o.prev"));
    run(0, 0, "train --data text --val more --steps 3 --eval-every 2 --out o --overwrite");
    assert_string_equal(about("o.best").run, about("o").run);
    /* --no-best makes none in the place of the one that goes */
    run(0, 0, "train --data text --val more --steps 2 --no-best --out o --overwrite");
    assert_false(is_there("o.best"));
    /* untrained weights of another run, and its evaluation */
    run(0, 0, "train --data text --val more --steps 0 --init o --out u");
    assert_int_equal(about("u.best").step, 0);
    run(0, 0, "train --data text --steps 2 --out u");
    assert_false(is_there("u.best") || is_there("u.prev"));
    /* one that was copied there is not told to be the newest's */
    run(0, 0, "train --data text --val more --steps 40 --eval-every 2 --lr 0.1 --out w");
    folder_shell(&folder, "cp o.best.kept w.best");
    run(0, 0, "eval --weights w --data more");
    says("weights        step 40\n", ran.out);
}

/* The best is kept where it was best, and a run that goes on writes the same again. */
static void the_best_is_kept(void **state) {
    (void)state;
    run(0, 0,
        "train --data text --val more --steps 40 --eval-every 2 --lr 0.1 --log b.log --out b");
    Checkpoint newest = about("b"), best = about("b.best");
    assert_in_range(newest.best_step, 3, 39);
    assert_int_equal(newest.best_step, best.step);
    assert_true(best.best_val_loss == logged("b.log", "val_loss", best.step));
    says("b.best: step ", ran.out);
    for (int64_t step = 2; step <= 40; step += 2)
        assert_true(logged("b.log", "val_loss", step) >= best.best_val_loss);
    run(0, 0, "eval --weights b.best --data more");
    char loss[64], is[64];
    snprintf(loss, sizeof loss, "loss           %.6f", best.best_val_loss);
    says(loss, ran.out);
    snprintf(is, sizeof is, "step %lld, the best by validation", (long long)best.step);
    says(is, ran.out);
    run(0, 0, "eval --weights b --data more");
    says("step 40; the best by validation is step ", ran.out);
    says(", in b.best", ran.out);
    folder_shell(&folder, "cp b.best whole.best");
    run(0, 0, "train --data text --val more --steps 2 --eval-every 2 --lr 0.1 --out b --overwrite");
    run(0, 0, "train --resume --steps 40 --out b");
    assert_true(folder_same(&folder, "b.best", "whole.best"));
}

static void weights_only(void **state) {
    (void)state;
    run(0, 0, "train --data text --steps 8 --out full");
    run(0, 0, "train --data text --steps 8 --out thin --weights-only");
    size_t whole, thin;
    free(folder_read(&folder, "full", &whole));
    free(folder_read(&folder, "thin", &thin));
    assert_true(thin < whole / 2);
    run(0, 0, "eval --weights thin --data more");
    char *first = strdup(ran.out);
    run(0, 0, "eval --weights full --data more");
    assert_string_equal(first, ran.out);
    free(first);
    run(0, 1, "train --resume --steps 9 --out thin");
    says("found weights without the optimizer's state", ran.err);
    run(0, 0, "train --data text --steps 2 --init thin --out on");
}

/* Stops a run on a model of a constant rate after some step; how far it came. */
static int64_t stop_after(int64_t step, const char *out, const char *words) {
    char log[64];
    snprintf(log, sizeof log, "%s.log", out);
    pid_t pid = program_start(scheduled(0), &folder, NULL, words);
    while (isnan(logged(log, "loss", step)))
        usleep(1000);
    kill(pid, SIGINT);
    assert_int_equal(program_wait(pid), 130);
    return about(out).step;
}

/* Until it is done, a run can go on, and knows then what it is to leave. */
static void weights_only_is_remembered(void **state) {
    (void)state;
    char words[100];
    int64_t step = stop_after(3, "stops",
                              "train --data text --steps 1000000 --out stops --weights-only "
                              "--log stops.log");
    step = stop_after(step + 2, "stops",
                      "train --resume --steps 2000000 --out stops --log stops.log");
    snprintf(words, sizeof words, "train --resume --out stops --steps %lld", (long long)step + 1);
    run(0, 0, words);
    says(", and ends in weights alone\n", ran.out);
    run(0, 0, "train --data text --steps 8 --out full");
    size_t whole, thin;
    free(folder_read(&folder, "full", &whole));
    free(folder_read(&folder, "stops", &thin));
    assert_true(thin < whole / 2);
}

/* The last line of what a run that was stopped says is the command that goes on. */
static void a_stopped_run_says_how_to_go_on(void **state) {
    (void)state;
    pid_t pid = program_start(scheduled(1), &folder, NULL,
                              "train --data text --steps 1000000 --out a\1b --log stop.log "
                              "--threads 1 --save-every 7");
    while (isnan(logged("stop.log", "loss", 3)))
        usleep(1000);
    kill(pid, SIGTERM);
    assert_int_equal(program_wait(pid), 143);
    char *out = folder_read(&folder, "stdout", NULL);
    says("/1000000; to go on: model train --resume --out 'a b' --log stop.log --save-every 7 "
         "--threads 1\n",
         out);
    free(out);
}

/* After its last step a run goes on with a schedule of its own, moments and all; with a constant
** rate that is the longer run. */
static void goes_on_after_the_last_step(void **state) {
    (void)state;
    run(1, 0, "train --data text --steps 20 --out c --log c.log --lr 0.5");
    run(1, 0, "train --resume --out c --log c.log");
    says("c: step 20/20, the last of the run; to go on: ", ran.out);
    run(1, 1, "train --resume --out c --steps 19");
    says("expected --steps of at least the 20 done, found 19", ran.err);
    run(1, 0, "train --resume --out c --log c.log --steps 30");
    double first = logged("c.log", "lr", 21);
    assert_true(first > logged("c.log", "lr", 20)); /* it warms up anew */
    for (int64_t step = 1; step <= 10; step += 9) { /* as a run of 10 steps has it */
        run(1, 0, "train --data text --steps 10 --out ten --log ten.log --lr 0.5");
        assert_true(logged("c.log", "lr", 20 + step) == logged("ten.log", "lr", step));
    }
    Checkpoint c = about("c");
    assert_int_equal(c.begun, 20);
    assert_int_equal(c.step, 30);
    /* stopped within them it ends with the same bits */
    folder_shell(&folder, "cp c whole");
    run(1, 0, "train --data text --steps 20 --out c --lr 0.5 --overwrite");
    pid_t pid = program_start(scheduled(1), &folder, NULL,
                              "train --resume --out c --steps 1000000 --log long.log");
    while (isnan(logged("long.log", "loss", 23)))
        usleep(1000);
    kill(pid, SIGINT);
    program_wait(pid);
    run(1, 1, "train --resume --out c --steps 21");
    says("expected --steps of at least the ", ran.err);
    run(1, 1, "train --resume --out c --steps 2000000");
    says("expected --steps 1000000, which its schedule is for, until they are done", ran.err);
    run(1, 1, "train --resume --out c --minutes 1");
    says("found --minutes 1", ran.err);
    /* constant */
    run(0, 0, "train --data text --steps 20 --out k");
    run(0, 0, "train --resume --out k --steps 30");
    run(0, 0, "train --data text --steps 30 --out k30");
    assert_true(folder_same(&folder, "k", "k30"));
}

static void finds_its_data(void **state) {
    (void)state;
    folder_write(&folder, "odd name", "{\"body\": \"a bag of figs, a fig of bags, a bad cafe\"}\n",
                 52);
    folder_shell(&folder, "mv 'odd name' lines.jsonl");
    run(0, 0, "train --data text:2 lines.jsonl:0.5 --field body --val more --steps 3 --out d");
    run(0, 0, "train --resume --steps 5 --out d");
    run(0, 0,
        "train --data text:2 lines.jsonl:0.5 --field body --val more --steps 5 --out e "
        "--eval-every 3");
    run(0, 0, "train --resume --steps 6 --eval-every 3 --out d");
    run(0, 0, "train --resume --steps 6 --out e");
    assert_true(folder_same(&folder, "d", "e"));
    folder_shell(&folder, "mv text elsewhere");
    run(0, 1, "train --resume --steps 7 --out d");
    says("the run was begun with it; --data says where it is now", ran.err);
    run(0, 0, "train --resume --steps 7 --out d --data elsewhere:2 lines.jsonl:0.5");
    folder_shell(&folder, "mv elsewhere text; printf x >>text; true");
    run(0, 1, "train --resume --steps 8 --out d --data text:2 lines.jsonl:0.5");
    says("data_sha256", ran.err);
    folder_shell(&folder, "truncate -s -1 text");
}

/* The schedule goes by time: its last step has the least rate, and a run that is stopped has the
** rest of its time. */
static void minutes(void **state) {
    (void)state;
    run(1, 2, "train --data text --minutes 1 --steps 3");
    run(1, 0,
        "train --data text --minutes 0.02 --out m --log m.log --lr 0.5 --val more "
        "--eval-every 100000");
    Checkpoint c = about("m");
    assert_true(c.step > 3 && c.elapsed == 1.2 && c.minutes == 0.02 && checkpoint_done(&c));
    assert_true(fabs(logged("m.log", "lr", c.step) - 0.005) < 0.2);
    assert_true(logged("m.log", "lr", 1) < 0.5);
    assert_false(isnan(logged("m.log", "val_loss", c.step)));
    run(1, 0, "train --resume --out m --log m.log --minutes 0.01");
    Checkpoint on = about("m"); /* so much more, from the beginning of the schedule */
    assert_true(on.begun == c.step && on.step > c.step && on.elapsed == 0.6);
    assert_true(fabs(logged("m.log", "lr", on.step) - 0.005) < 0.2);
    run(1, 0, "train --resume --out m --log m.log --minutes 0.01"); /* and again */
    assert_true(about("m").begun == on.step);
    run(1, 0, "train --resume --out m");
    says("the last of the run", ran.out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_run_is_left_alone),
        cmocka_unit_test(the_same_run_and_what_is_asked_for),
        cmocka_unit_test(overwriting_leaves_nothing_behind),
        cmocka_unit_test(the_best_is_kept),
        cmocka_unit_test(weights_only),
        cmocka_unit_test(weights_only_is_remembered),
        cmocka_unit_test(a_stopped_run_says_how_to_go_on),
        cmocka_unit_test(goes_on_after_the_last_step),
        cmocka_unit_test(finds_its_data),
        cmocka_unit_test(minutes),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
