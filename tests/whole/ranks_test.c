/* SPDX-License-Identifier: MIT
** Ranks, threads of one process with the program of one model each (thread_ranks.h): what several
** train together is, byte for byte, what one trains alone with the same micro-batches, random
** numbers, balance biases of experts, routes and Muon included; whoever goes on from a checkpoint;
** and only the first rank writes.
*/
#include "test.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learners.h"
#include "thread_ranks.h"

#define HEAD                                                      \
    "vocab = 256, context = 16, dim = 32, tokenizer = 'bytes',\n" \
    "  norm = rmsnorm { eps = 1e-6 }, "

static const Learner learner[] = {
    { "plain",
      "return model { name = 'plain', " HEAD "residual = standard {},\n"
      "  layers = times(2, layer { attention { heads = 2 }, mlp { hidden = 48 } }),\n"
      "  train = { optimizer = adamw { lr = 4e-3, clip = 0.5 }, batch = 2 } }\n" },
    { "chance",
      "return model { name = 'chance', " HEAD "residual = haares { blocks = 2 },\n"
      "  layers = times(3, layer { attention { heads = 2, dropout = 0.2 },\n"
      "    moe { experts = 6, top = 2, hidden = 24, shared = 1, balance = 0.01,\n"
      "          dropout = 0.1 } }),\n"
      "  train = { optimizer = muon { lr = 4e-3 }, batch = 2 } }\n" },
    { "routed",
      "return model { name = 'routed', " HEAD "residual = attnres { block_size = 2 },\n"
      "  layers = times(3, layer { attention { heads = 2 },\n"
      "    mlp { hidden = 48, activation = 'swiglu', dropout = 0.1 }, route = dtr {} }),\n"
      "  train = { optimizer = adamw { lr = 4e-3 }, schedule = cosine { warmup = 0.2 },\n"
      "            batch = 2 } }\n" },
    { "half",
      "return model { name = 'half', " HEAD "residual = mhc { streams = 2 },\n"
      "  layers = times(2, layer { attention { heads = 2 }, mlp { hidden = 48 } },\n"
      "    layer { attention { heads = 2 }, mlp { hidden = 48 },\n"
      "      route = mod { capacity = 0.5 } }),\n"
      "  train = { optimizer = adamw { lr = 4e-3 }, batch = 2 } }\n" },
    { "grown",
      "return model { name = 'grown', " HEAD "residual = standard {},\n"
      "  layers = { layer { kda { heads = 2, head_dim = 16 }, mlp { hidden = 48 } },\n"
      "    layer { attention { heads = 2 }, mlp { hidden = 48 },\n"
      "      route = stochastic_depth { keep = 0.5 } } },\n"
      "  train = { optimizer = adamw { lr = 4e-3 }, batch = 1,\n"
      "            freeze = { 'layers.1.mlp.*' } } }\n" },
};
enum { LEARNERS = sizeof learner / sizeof *learner };

static Folder folder;
static char text[TEXT + 1];
static strata_api api[LEARNERS];
static Ran ran;

static int open_folder(void **state) {
    (void)state;
    learners_open(&folder, text);
    for (int i = 0; i < LEARNERS; i++)
        learner_load(&folder, &learner[i], i == 3 ? "--precision bf16" : "", &api[i]);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* == Runs ================================================================= */

typedef struct Started {
    int model, ranks;
    const char *words;
    int status[THREAD_RANKS]; /* expected */
} Started;

/* 0: all ranks ended as they should. */
static int run_ranks(void *user) {
    const Started *s = user;
    int status[THREAD_RANKS];
    thread_ranks_run(&api[s->model], s->ranks, s->words, status);
    for (int i = 0; i < (s->ranks ? s->ranks : 1); i++)
        if (status[i] != s->status[i])
            fprintf(stderr, "rank %d ended with %d, expected %d\n", i, status[i], s->status[i]);
    return memcmp(status, s->status, sizeof *status * (size_t)(s->ranks ? s->ranks : 1)) != 0;
}

static void run(const Started *s) {
    program_collect(&ran, &folder, program_fork(&folder, NULL, run_ranks, (void *)(uintptr_t)s));
    if (ran.status) fail_msg("%s: %s%s", s->words, ran.out, ran.err);
}

/* Training, which all ranks end well. */
static void train(int model, int ranks, const char *out, const char *more) {
    char words[512];
    snprintf(words, sizeof words, "train --data text --overwrite --out %s --threads 1 %s", out,
             more);
    run(&(Started){ model, ranks, words, { 0 } });
}

static void expect_same(int model, int ranks, const char *a, const char *b) {
    if (!folder_same(&folder, a, b))
        fail_msg("%s, %d ranks: %s differs from %s", learner[model].name, ranks, a, b);
}

/* A number of a step, that two logs agree in. */
static void expect_same_log(int model, int ranks, const char *key) {
    char *a = folder_read(&folder, "one.log", NULL), *b = folder_read(&folder, "many.log", NULL),
         find[40];
    assert_true(a && b);
    snprintf(find, sizeof find, "\"%s\": ", key);
    int found = 0;
    for (char *x = strstr(a, find), *y = strstr(b, find); x || y; found++) {
        size_t n = x ? strcspn(x, ",]}") : 0;
        if (!x || !y || strncmp(x, y, n + 1))
            fail_msg("%s, %d ranks: %s differs: %.60s, %.60s", learner[model].name, ranks, key,
                     x ? x : "none", y ? y : "none");
        x = strstr(x + 1, find), y = strstr(y + 1, find);
    }
    assert_true(found > 0);
    free(a), free(b);
}

/* == Tests ================================================================ */

/* Numbers of micro-batches that ranks share evenly, and that they do not. */
static void any_number_of_ranks_trains_the_same(void **state) {
    (void)state;
    static const struct {
        int parts, ranks[4];
    } split[] = { { 4, { 1, 2, 4, 3 } }, { 5, { 2, 3, 5, 4 } }, { 1, { 1 } }, { 7, { 3, 6 } } };
    char more[160];
    for (int i = 0; i < LEARNERS; i++)
        for (int k = 0; k < 4; k++) {
            const char *words = "--steps 5 --val text --eval-every 2 --order %s --accumulate %d "
                                "--log %s.log";
            const char *order = k % 2 ? "shuffled" : "random";
            snprintf(more, sizeof more, words, order, split[k].parts, "one");
            train(i, 0, "one", more);
            snprintf(more, sizeof more, words, order, split[k].parts, "many");
            for (int n = 0; n < 4 && split[k].ranks[n]; n++) {
                int ranks = split[k].ranks[n];
                train(i, ranks, "many", more);
                expect_same(i, ranks, "one", "many");
                expect_same(i, ranks, "one.best", "many.best");
                static const char *const key[] = { "loss", "cross_entropy", "grad_norm",
                                                   "val_loss" };
                for (int m = 0; m < 4; m++)
                    expect_same_log(i, ranks, key[m]);
                if (i == 1) expect_same_log(i, ranks, "load");
                if (i == 2) expect_same_log(i, ranks, "routed");
            }
        }
}

/* Threads inside of ranks change nothing either. */
static void threads_within_ranks_change_nothing(void **state) {
    (void)state;
    train(1, 0, "one", "--steps 4 --accumulate 4");
    run(&(Started){ 1,
                    2,
                    "train --data text --overwrite --out many --threads 3 --steps 4 --accumulate 4",
                    { 0 } });
    expect_same(1, 2, "one", "many");
}

/* Whoever goes on, and however many it were before. */
static void other_ranks_go_on_from_a_checkpoint(void **state) {
    (void)state;
    static const int ranks[][3] = { { 4, 2, 0 }, { 0, 4, 3 }, { 3, 0, 2 } };
    for (int i = 0; i < LEARNERS; i++) {
        train(i, 0, "one", "--steps 9 --accumulate 4 --seed 3");
        for (int k = 0; k < 3; k++) {
            const int *n = ranks[k];
            /* a schedule is for all of its steps: stopped by its length, not by a signal */
            if (i == 2) continue;
            train(i, n[0], "many", "--steps 3 --accumulate 4 --seed 3");
            run(&(Started){ i, n[1], "train --out many --resume --steps 6 --threads 1", { 0 } });
            run(&(Started){ i, n[2], "train --out many --resume --steps 9 --threads 1", { 0 } });
            expect_same(i, n[1], "one", "many");
        }
    }
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* Of four ranks: one line about the end, one log, no other file than those of one rank. */
static void only_the_first_rank_writes(void **state) {
    (void)state;
    train(0, 4, "alone", "--steps 3 --accumulate 4 --log alone.log --tensorboard events");
    assert_int_equal(count(ran.out, "alone: step 3"), 1);
    char *log = folder_read(&folder, "alone.log", NULL);
    assert_int_equal(count(log, "\"strata\""), 1);
    assert_int_equal(count(log, "\"step\""), 3);
    free(log);
    folder_shell(&folder,
                 "test $(ls events | wc -l) = 1 && rm -r events && test $(ls alone* | wc "
                 "-l) = 2");
    run(&(Started){ 0, 3, "info", { 0 } });
    assert_int_equal(count(ran.out, "parameters"), 1);
    run(&(Started){ 0, 3, "--version", { 0 } });
    assert_int_equal(count(ran.out, "model plain"), 1);
    run(&(Started){ 0, 2, "train --data text --accumulate 2 --dry-run", { 0 } });
    assert_int_equal(count(ran.out, "gradients"), 1);
}

/* What one rank finds wrong ends all, each with a line. */
static void a_rank_that_fails_ends_all(void **state) {
    (void)state;
    run(&(Started){ 0, 3, "train --data text --out bad --steps 3 --accumulate 2", { 1, 1, 1 } });
    assert_non_null(strstr(ran.err,
                           "error: train: --accumulate: expected a micro-batch or more "
                           "for each of 3 ranks, found 2"));
    assert_non_null(strstr(ran.err, "error: rank 2: train: --accumulate"));
    train(0, 0, "kept", "--steps 2 --seed 4");
    /* the first rank alone refuses to replace what is there; the others wait for it */
    run(&(Started){ 0, 2, "train --data text --out kept --steps 3 --accumulate 2", { 1, 4 } });
    assert_non_null(strstr(ran.err, "kept holds step 2 of another run"));
    assert_non_null(strstr(ran.err, "error: rank 1: rank 1 of 2: "));
    assert_non_null(strstr(ran.err, "rank 0 left with status 1"));
}

static int steps_logged(const char *name) {
    char *log = folder_read(&folder, name, NULL);
    int n = log ? count(log, "\"step\"") : 0;
    free(log);
    return n;
}

/* A signal to the process stops all ranks after the same step, from which others go on. */
static void a_signal_stops_all(void **state) {
    (void)state;
    static const Started s = { 0,
                               2,
                               "train --data text --out stopped --steps 100000 --accumulate 2 "
                               "--log many.log --overwrite --threads 1",
                               { 128 + SIGTERM, 128 + SIGTERM } };
    char words[160];
    folder_write(&folder, "many.log", "", 0);
    pid_t pid = program_fork(&folder, NULL, run_ranks, (void *)(uintptr_t)&s);
    for (int i = 0; i < 20000 && steps_logged("many.log") < 5; i++)
        usleep(500);
    kill(pid, SIGTERM);
    program_collect(&ran, &folder, pid);
    if (ran.status) fail_msg("%s%s", ran.out, ran.err);
    int steps = steps_logged("many.log");
    assert_in_range(steps, 5, 99999);
    snprintf(words, sizeof words, "--steps %d --accumulate 2 --log one.log", steps + 2);
    train(0, 0, "one", words);
    snprintf(words, sizeof words,
             "train --out stopped --resume --steps %d --log many.log --threads 1", steps + 2);
    run(&(Started){ 0, 0, words, { 0 } });
    expect_same(0, 2, "one", "stopped");
    expect_same_log(0, 2, "loss");
}

static double first_loss(const char *name) {
    char *log = folder_read(&folder, name, NULL), *at = log ? strstr(log, "\"loss\": ") : NULL;
    double loss = at ? strtod(at + 8, NULL) : -1;
    free(log);
    return loss;
}

/* Dropout of a window does not depend on how a batch is cut. */
static void micro_batches_draw_as_one_batch(void **state) {
    (void)state;
    double loss[3];
    static const char *const cut[] = { "--batch 8", "--batch 2 --accumulate 4",
                                       "--batch 1 --accumulate 8" };
    char words[160];
    for (int i = 0; i < 3; i++) {
        snprintf(words, sizeof words, "--steps 1 --log one.log %s", cut[i]);
        train(1, 0, "one", words);
        loss[i] = first_loss("one.log");
        assert_true(loss[i] > 1 && loss[i] < 10);
        if (i && !(fabs(loss[i] - loss[0]) < 2e-6))
            fail_msg("%s: loss %.9f, expected %.9f", cut[i], loss[i], loss[0]);
    }
}

/* The first rank's clock counts for all. */
static void minutes_end_on_all_ranks(void **state) {
    (void)state;
    run(&(Started){ 2,
                    3,
                    "train --data text --out timed --overwrite --minutes 0.02 --accumulate 3 "
                    "--threads 1 --log many.log",
                    { 0 } });
    assert_true(folder_has(&folder, "timed") && steps_logged("many.log") > 1);
}

/* == Work is shared ======================================================= */

static int64_t losses;

static int32_t counted_loss(void *ctx, const void *w, void *arena, const int32_t *tokens,
                            const int32_t *targets, int64_t B, int64_t T, float *nll,
                            strata_loss *out) {
    __atomic_add_fetch(&losses, 1, __ATOMIC_RELAXED);
    return api[0].loss(ctx, w, arena, tokens, targets, B, T, nll, out);
}

/* 0: three ranks evaluate as many batches as one, which are not few. */
static int count_losses(void *user) {
    (void)user;
    const char *words = "train --data text --val text --steps 3 --accumulate 3 --overwrite --out c";
    strata_api counting = api[0];
    int status[3];
    counting.loss = counted_loss;
    thread_ranks_run(&counting, 0, words, status);
    int64_t alone = losses;
    thread_ranks_run(&counting, 3, words, status);
    return status[0] || status[1] || status[2] || alone < 20 || losses != 2 * alone;
}

static void ranks_share_evaluations(void **state) {
    (void)state;
    program_collect(&ran, &folder, program_fork(&folder, NULL, count_losses, NULL));
    if (ran.status) fail_msg("status %d: %s%s", ran.status, ran.out, ran.err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_trains_the_same),
        cmocka_unit_test(threads_within_ranks_change_nothing),
        cmocka_unit_test(other_ranks_go_on_from_a_checkpoint),
        cmocka_unit_test(only_the_first_rank_writes),
        cmocka_unit_test(a_rank_that_fails_ends_all),
        cmocka_unit_test(a_signal_stops_all),
        cmocka_unit_test(micro_batches_draw_as_one_batch),
        cmocka_unit_test(ranks_share_evaluations),
        cmocka_unit_test(minutes_end_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
