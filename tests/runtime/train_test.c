/* SPDX-License-Identifier: MIT
** The command train on the mock model: it learns, every way of stopping and resuming
** ends in the same bits, its log has the keys it promises, its failures their statuses.
*/
#include "test.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint.h"
#include "json.h"
#include "mock_model.h"
#include "program_run.h"

static Folder folder;
static Ran ran;

static const strata_api *model(void) {
    static const MockOptions o = { .tokenizer = "chars", .vocab = 24, .context = 16, .batch = 4 };
    return mock_api(&o);
}

static const strata_api *scheduled(int32_t schedule) {
    MockOptions o = {
        .tokenizer = "chars", .vocab = 24, .context = 16, .batch = 4, .schedule = schedule
    };
    return mock_api(&o);
}

static int open_folder(void **state) {
    (void)state;
    char text[4001];
    static const char *const word[] = { "abba ", "cade ", "fig ", "bag " };
    size_t n = 0;
    for (uint32_t i = 1; n + 8 < sizeof text; i = i * 1664525u + 1013904223u)
        n += (size_t)sprintf(text + n, "%s", word[i >> 28 & 3]);
    folder_open(&folder);
    folder_write(&folder, "text", text, n);
    folder_write(&folder, "more", "a bag of figs", 13);
    char fifo[300];
    snprintf(fifo, sizeof fifo, "%s/fifo", folder.path);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

static void run(const strata_api *api, int status, const char *words) {
    program_run(&ran, api, &folder, NULL, words);
    if (ran.status != status)
        fail_msg("'%s': status %d, expected %d\n%s%s", words, ran.status, status, ran.out, ran.err);
}

static void says(const char *text) {
    if (!strstr(ran.err, text)) fail_msg("expected '%s' in '%s'", text, ran.err);
    assert_memory_equal(ran.err, "error: ", 7);
}

/* Value of a key in the last line of a log that has it; NAN if none has. */
static double logged(const char *name, const char *key, int64_t step) {
    char *text = folder_read(&folder, name, NULL), *at = text;
    double found = NAN;
    for (char *line; text && (line = strsep(&at, "\n")) && *line;) {
        Json j = { 0 };
        Error e = { 0 };
        int64_t s = 0;
        double value;
        if (json_parse(&j, name, line, strlen(line), 1000, &e)) fail_msg("%s: %s", name, e.text);
        const JsonNode *n = json_member(&j, j.node, "step"), *k = json_member(&j, j.node, key);
        bool here = step == 0 ? !n : n && json_int64(n, &s) && s == step;
        if (here && k && json_double(k, &value)) found = value;
        json_free(&j);
    }
    free(text);
    return found;
}

static void learns(void **state) {
    (void)state;
    static const char *const key[] = { "loss",      "cross_entropy",     "lr",
                                       "grad_norm", "tokens_per_second", "seconds" };
    run(model(), 0, "train --data text --steps 60 --log log --out w --val more --eval-every 25");
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        assert_true(isfinite(logged("log", key[i], 7)));
    assert_true(fabs(logged("log", "loss", 1) - log(24)) < 0.1);
    assert_true(logged("log", "loss", 60) < 1.6);
    assert_true(isfinite(logged("log", "val_loss", 25)) && isfinite(logged("log", "val_loss", 60)));
    assert_true(isnan(logged("log", "val_loss", 26)));
    assert_true(isfinite(logged("log", "seed", 0))
                && logged("log", "parameters", 0) == 2 * 24 * 24 + 24);
    char *text = folder_read(&folder, "log", NULL);
    assert_memory_equal(text, "{\"strata\": \"", 12);
    assert_non_null(strstr(text,
                           "\"spec\": \"mock\", \"spec_hash\": \"0000000000001234\", \"cpu\": "
                           "\"any\", \"options\": {}, "
                           "\"precision\": \"f32\""));
    free(text);
    assert_non_null(strstr(ran.out, "step 60/60  loss"));
}

/* Threads and the size of the pool change nothing. */
static void same_bits_on_any_threads(void **state) {
    (void)state;
    run(model(), 0, "train --data text --steps 12 --out t1 --threads 1");
    run(model(), 0, "train --data text --steps 12 --out t2 --threads 2");
    run(model(), 0, "train --data text --steps 12 --out t3 --threads 3");
    assert_true(folder_same(&folder, "t1", "t2") && folder_same(&folder, "t1", "t3"));
    run(model(), 0, "train --data text --steps 12 --out t4 --seed 43");
    assert_false(folder_same(&folder, "t1", "t4"));
}

/* Stopped after any step and resumed, in any order, under every schedule. */
static void resumes_bit_for_bit(void **state) {
    (void)state;
    static const char *const order[] = { "random", "sequential", "shuffled" };
    char words[256];
    for (int k = 0; k < 3; k++) {
        snprintf(words, sizeof words,
                 "train --data text --val-share 0.1 --eval-every 3 --steps 9 --accumulate 2 "
                 "--order %s --out whole --overwrite --log whole.log",
                 order[k]);
        run(model(), 0, words);
        for (int stop = 1; stop < 9; stop++) {
            snprintf(words, sizeof words,
                     "train --data text --val-share 0.1 --eval-every 3 --steps %d --accumulate 2 "
                     "--order %s --out part --overwrite --log part.log",
                     stop, order[k]);
            run(model(), 0, words);
            run(model(), 0, "train --data text --out part --resume --steps 9 --log part.log");
            if (stop % 3 == 0) /* elsewhere the shorter run evaluated at its end */
                assert_true(folder_same(&folder, "whole", "part"));
            for (int step = 1; step <= 9; step++)
                assert_true(logged("whole.log", "loss", step) == logged("part.log", "loss", step));
        }
    }
}

static int count_lines(const char *name) {
    char *text = folder_read(&folder, name, NULL);
    int lines = 0;
    for (char *c = text; c && *c; c++)
        lines += *c == '\n';
    free(text);
    return lines;
}

/* Waits until a log has that many lines; the process must still run then. */
static void wait_for(const char *name, int lines) {
    for (int i = 0; i < 20000 && count_lines(name) < lines; i++)
        usleep(500);
    assert_true(count_lines(name) >= lines);
}

static void stop_with(int signal, int32_t schedule) {
    const strata_api *api = scheduled(schedule);
    folder_write(&folder, "sig.log", "", 0);
    pid_t pid = program_start(
        api, &folder, NULL, "train --data text --steps 30000 --out sig --overwrite --log sig.log");
    wait_for("sig.log", 12);
    kill(pid, signal);
    assert_int_equal(program_wait(pid), 128 + signal);
    CheckpointFile f = { 0 };
    Error e = { 0 };
    char path[300];
    snprintf(path, sizeof path, "%s/sig", folder.path);
    assert_int_equal(checkpoint_open(&f, path, &e), 0);
    assert_false(f.previous);
    int64_t step = f.state.step;
    checkpoint_close(&f);
    assert_true(step >= 11 && step < 30000);
    assert_int_equal(count_lines("sig.log"), step + 1);
}

static void signals_save(void **state) {
    (void)state;
    stop_with(SIGINT, 0);
    stop_with(SIGTERM, 1);
}

/* Killed without warning: what was saved resumes, and ends as if nothing had been. */
static void survives_a_kill(void **state) {
    (void)state;
    run(model(), 0, "train --data text --steps 400 --out calm --save-every 50");
    for (int k = 0; k < 3; k++) {
        folder_write(&folder, "kill.log", "", 0);
        pid_t pid = program_start(
            model(), &folder, NULL,
            "train --data text --steps 400 --out killed --save-every 50 --log kill.log");
        wait_for("kill.log", 60 + 90 * k);
        kill(pid, SIGKILL);
        program_wait(pid);
        run(model(), 0, "train --data text --out killed --log kill.log --resume");
        assert_true(folder_same(&folder, "calm", "killed"));
        assert_int_equal(count_lines("kill.log"), 401);
    }
}

static void log_is_cut_on_resume(void **state) {
    (void)state;
    run(model(), 0, "train --data text --steps 5 --out cut --log cut.log");
    size_t n;
    char *text = folder_read(&folder, "cut.log", &n), *more = malloc(n + 64);
    sprintf(more, "%s{\"step\": 6, \"loss\": 9}\n{\"step\": 7, \"lo", text);
    folder_write(&folder, "cut.log", more, strlen(more));
    free(text);
    free(more);
    run(model(), 0, "train --data text --steps 8 --out cut --log cut.log --resume");
    assert_int_equal(count_lines("cut.log"), 9);
    assert_true(logged("cut.log", "loss", 6) < 9);
    folder_write(&folder, "notes", "not a log, but somebody's notes\n", 32);
    run(model(), 1, "train --data text --steps 8 --out cut --log notes --resume");
    says("notes:1: expected a log of training");
    run(model(), 1, "train --data text --steps 8 --out fresh --log notes");
    assert_int_equal(count_lines("notes"), 1);
}

/* Lines that a power cut left as zeros: the last of them, one in the middle, all of them. */
static void zeros_end_a_log(void **state) {
    (void)state;
    static const int first[] = { 4, 1, 0 };
    for (int i = 0; i < 3; i++) {
        size_t n, from = 0;
        run(model(), 0, "train --data text --steps 5 --out zeros --log zeros.log --overwrite");
        char *text = folder_read(&folder, "zeros.log", &n);
        for (int line = 0; line < first[i]; from++)
            line += text[from] == '\n';
        memset(text + from, 0, i == 1 ? 40 : n - from);
        folder_write(&folder, "zeros.log", text, n);
        free(text);
        run(model(), 0, "train --data text --steps 8 --out zeros --log zeros.log --resume");
        assert_int_equal(count_lines("zeros.log"), first[i] ? first[i] + 3 : 4);
    }
    folder_write(&folder, "film", "\0\0\0\030ftyp\n", 9);
    run(model(), 1, "train --data text --steps 8 --out zeros --log film --resume");
    says("film:1: expected a log of training");
}

static void accumulates(void **state) {
    (void)state;
    run(model(), 0,
        "train --data text --steps 5 --out a1 --log a1.log --batch 8 --order sequential");
    run(model(), 0,
        "train --data text --steps 5 --out a2 --log a2.log --batch 2 --accumulate 4 --order "
        "sequential");
    for (int step = 1; step <= 5; step++) {
        assert_true(fabs(logged("a1.log", "loss", step) - logged("a2.log", "loss", step)) < 1e-5);
        assert_true(fabs(logged("a1.log", "grad_norm", step) - logged("a2.log", "grad_norm", step))
                    < 1e-5);
    }
}

static void initial_weights(void **state) {
    (void)state;
    run(model(), 0, "train --data text --steps 0 --out i0");
    run(model(), 0, "train --data text --steps 4 --out i1 --log i1.log");
    run(model(), 0, "train --data text --steps 4 --out i2 --log i2.log --init i0");
    assert_true(logged("i1.log", "loss", 4) == logged("i2.log", "loss", 4));
    run(model(), 0, "train --data text --steps 4 --out i0 --resume");
    assert_true(folder_same(&folder, "i0", "i1"));
}

static void follows_the_schedule(void **state) {
    (void)state;
    run(scheduled(1), 0, "train --data text --steps 20 --out c --log c.log --lr 0.5");
    assert_true(fabs(logged("c.log", "lr", 1) - 0.25) < 1e-12);
    assert_true(fabs(logged("c.log", "lr", 20) - 0.005) < 1e-12);
    run(scheduled(0), 0, "train --data text --steps 3 --out k");
    run(scheduled(0), 0, "train --data text --steps 5 --out k --resume");
}

static void resume_refuses(void **state) {
    (void)state;
    static const struct {
        const char *words, *says;
    } row[] = {
        { "train --data text --out r --resume --steps 9 --batch 5", "batch" },
        { "train --data text more --out r --resume --steps 9", "data" },
        { "train --data text --out r --resume --steps 9 --seed 1", "seed" },
        { "train --data text --out r --resume --steps 9 --lr 0.1", "lr" },
        { "train --data text --out r --resume --steps 9 --order sequential", "random" },
        { "train --data text --out r --resume --steps 9 --accumulate 2", "accumulate" },
        { "train --data text --out r --resume --steps 1", "--steps" },
        { "train --data text --out nothing --resume", "nothing" },
    };
    run(model(), 0, "train --data text --steps 4 --out r");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run(model(), 1, row[i].words);
        says(row[i].says);
    }
    MockOptions other = {
        .tokenizer = "chars", .vocab = 24, .context = 16, .batch = 4, .spec_hash = 99
    };
    run(mock_api(&other), 1, "train --data text --out r --resume --steps 9");
    says("spec");
    run(model(), 0, "train --data text --out r --resume");
}

static void diverges(void **state) {
    (void)state;
    MockOptions o = { .tokenizer = "chars", .vocab = 24, .context = 16, .batch = 4, .nan_at = 6 };
    run(mock_api(&o), 6, "train --data text --steps 9 --out d --save-every 5");
    says("step 6: expected a finite loss, found nan");
    says("gradient of previous.weight[5]");
    run(model(), 0, "train --data text --steps 5 --out d5");
    o.nan_at = 0;
    run(mock_api(&o), 0, "train --data text --steps 9 --out d --resume");
    run(model(), 0, "train --data text --steps 9 --out d9");
    assert_true(folder_same(&folder, "d", "d9"));
}

static void dry_run(void **state) {
    (void)state;
    run(model(), 0, "train --dry-run");
    static const char *const row[] = { "weights",   "gradients", "optimizer", "activations",
                                       "per token", "total",     "free" };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_non_null(strstr(ran.out, row[i]));
    assert_false(folder_has(&folder, "mock.safetensors"));
}

static void refuses(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *words, *says;
    } row[] = {
        { 2, "train", "expected --data" },
        { 2, "train --data text --val more --val-share 0.1", "found both" },
        { 2, "train --data text --init w --resume", "found both" },
        { 1, "train --data missing", "missing" },
        { 1, "train --data .", "." },
        { 1, "train --data more --out x", "--data" },
        { 1, "train --data text --out text", "found one that is read" },
        { 1, "train --data text --log text", "found one that is read" },
        { 1, "train --data text --out x --log x", "different files" },
        { 1, "train --data text --out fifo", "fifo" },
        { 1, "train --data fifo --out x", "fifo" },
        { 1, "train --data text --init fifo --out x", "fifo" },
        { 1, "train --data text --log fifo --out x", "fifo" },
        { 1, "train --data text --out no/such/folder/x", "no/such" },
        { 1, "train --data text --init text --out x", "text" },
        { 1, "train --tensorboard text --data text --out x", "text" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run(model(), row[i].status, row[i].words);
        says(row[i].says);
        assert_false(folder_has(&folder, "x"));
    }
    MockOptions o = { .tokenizer = "", .vocab = 24, .context = 16 };
    run(mock_api(&o), 1, "train --data text --out x");
    says("tokenizer");
    o.inference = 1;
    run(mock_api(&o), 1, "train --data text --out x");
    says("--inference");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns),
        cmocka_unit_test(same_bits_on_any_threads),
        cmocka_unit_test(resumes_bit_for_bit),
        cmocka_unit_test(signals_save),
        cmocka_unit_test(survives_a_kill),
        cmocka_unit_test(log_is_cut_on_resume),
        cmocka_unit_test(zeros_end_a_log),
        cmocka_unit_test(accumulates),
        cmocka_unit_test(initial_weights),
        cmocka_unit_test(follows_the_schedule),
        cmocka_unit_test(resume_refuses),
        cmocka_unit_test(diverges),
        cmocka_unit_test(dry_run),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
