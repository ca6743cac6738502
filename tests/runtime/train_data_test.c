/* SPDX-License-Identifier: MIT
** The command train on the mock model, with data that is more than a text: several files to
** evaluate on, token files, JSON lines, folders and weights; stopped and resumed they end in the
** same bits.
*/
#include "test.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"
#include "json_get.h"
#include "mock_model.h"
#include "program_run.h"
#include "safetensors_layout.h"
#include "token_file.h"

static Folder folder;
static Ran ran;

static const strata_api *model(void) {
    static const MockOptions o = { .tokenizer = "chars", .vocab = 24, .context = 16, .batch = 4 };
    return mock_api(&o);
}

/* One without a tokenizer. */
static const strata_api *mute(void) {
    static const MockOptions o = { .tokenizer = "", .vocab = 24, .context = 16, .batch = 4 };
    return mock_api(&o);
}

/* Ids 4 … 4 + kinds - 1 in no order. */
static void write_ids(const char *name, int width, int64_t count, uint32_t kinds) {
    size_t n = TOKEN_FILE_HEADER + (size_t)count * (size_t)width;
    unsigned char *bytes = calloc(1, n);
    uint32_t random = 7;
    assert_non_null(bytes);
    token_file_print(&(TokenHeader){ .width = width, .count = count }, bytes);
    for (int64_t i = 0; i < count; i++, random = random * 1664525u + 1013904223u)
        bytes[TOKEN_FILE_HEADER + i * width] = (unsigned char)(4 + (random >> 20) % kinds);
    folder_write(&folder, name, bytes, n);
    free(bytes);
}

static void write_text(const char *name, size_t n, uint32_t random) {
    static const char *const word[] = { "abba ", "cade ", "fig ", "bag " };
    char text[4096];
    size_t at = 0;
    for (; at + 8 < n; random = random * 1664525u + 1013904223u)
        at += (size_t)sprintf(text + at, "%s", word[random >> 28 & 3]);
    folder_write(&folder, name, text, at);
}

static int open_folder(void **state) {
    (void)state;
    char path[300];
    folder_open(&folder);
    write_text("text", 4000, 1);
    write_text("other", 900, 2);
    folder_write(&folder, "l.jsonl",
                 "{\"text\": \"abba cade fig\"}\n\n{\"n\": 1, \"text\": \"bag fig cade abba\"}\n",
                 64);
    write_ids("ids", 2, 3000, 8);
    write_ids("wide", 4, 500, 8);
    snprintf(path, sizeof path, "%s/sub", folder.path);
    assert_int_equal(mkdir(path, 0700), 0);
    write_text("sub/b", 500, 3);
    write_text("sub/a", 300, 4);
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
}

/* The line of a step of a log that has this key. */
static void take_line(Json *j, const char *name, const char *key, int64_t step) {
    char *text = folder_read(&folder, name, NULL), *at = text;
    bool found = false;
    Error e = { 0 };
    for (char *line; !found && text && (line = strsep(&at, "\n")) && *line;) {
        int64_t s = 0;
        if (json_parse(j, name, line, strlen(line), 1000, &e)) fail_msg("%s: %s", name, e.text);
        const JsonNode *n = json_member(j, j->node, "step");
        found = n && json_int64(n, &s) && s == step && json_member(j, j->node, key);
        if (!found) json_free(j);
    }
    free(text);
    if (!found) fail_msg("%s: no %s of step %lld", name, key, (long long)step);
}

static double logged(const char *name, const char *key, int64_t step) {
    Json j;
    take_line(&j, name, key, step);
    double value = json_get_number(&j, j.node, key);
    json_free(&j);
    return value;
}

/* == Evaluation by name =================================================== */

static void evaluates_files_by_name(void **state) {
    (void)state;
    static const char *const name[] = { "other", "l.jsonl", "sub" };
    run(model(), 0,
        "train --data text --steps 6 --eval-every 3 --val other l.jsonl sub --log v.log --out v");
    Json j;
    take_line(&j, "v.log", "val_files", 3);
    const JsonNode *list = json_get(&j, j.node, "val_files");
    double all = json_get_number(&j, j.node, "val_loss"), loss[3];
    assert_int_equal(list->count, 3);
    int i = 0;
    for (const JsonNode *n = json_first(&j, list); n; n = json_next(&j, n), i++) {
        assert_string_equal(json_get(&j, n, "name")->text, name[i]);
        loss[i] = json_get_number(&j, n, "loss");
        assert_true(isfinite(loss[i]) && fabs(loss[i] - all) > 1e-9);
    }
    json_free(&j);
    assert_true(all > fmin(fmin(loss[0], loss[1]), loss[2]));
    assert_true(all < fmax(fmax(loss[0], loss[1]), loss[2]));
    assert_non_null(strstr(ran.out, "  l.jsonl\n"));
    for (int k = 0; k < 3; k++) { /* each as if alone */
        char words[256];
        snprintf(
            words, sizeof words,
            "train --data text --steps 6 --eval-every 3 --val %s --log o.log --out o --overwrite",
            name[k]);
        run(model(), 0, words);
        assert_true(logged("o.log", "val_loss", 3) == loss[k]);
        char *log = folder_read(&folder, "o.log", NULL);
        assert_null(strstr(log, "val_files"));
        free(log);
    }
    assert_true(logged("v.log", "best_val_loss", 6) <= logged("v.log", "val_loss", 3));
    run(model(), 0, "eval --weights v --data other l.jsonl sub --json");
    assert_int_equal(json_parse(&j, "eval", ran.out, ran.out_length, 1000, NULL), 0);
    assert_true(json_get_number(&j, j.node, "loss") == logged("v.log", "val_loss", 6));
    assert_int_equal(json_get(&j, j.node, "files")->count, 3);
    json_free(&j);
}

/* == Resuming ============================================================= */

/* Any data, any order: stopped after each step. */
static void resumes_bit_for_bit(void **state) {
    (void)state;
    static const char *const row[] = {
        "--data text:0.3 other:0.7 --order random",
        "--data text:0.3 sub:0.7 l.jsonl:5 --order shuffled",
        "--data sub:2 other:1 --order sequential",
        "--data sub l.jsonl other --order shuffled",
        "--data ids wide --init v --order shuffled",
    };
    run(model(), 0, "train --data text --steps 0 --out v --overwrite");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char words[512], data[256];
        snprintf(words, sizeof words,
                 "train %s --val other sub --eval-every 2 --steps 6 --out whole --overwrite "
                 "--log whole.log --accumulate 2",
                 row[i]);
        run(model(), 0, words);
        for (int stop = 2; stop < 6; stop += 2) {
            snprintf(words, sizeof words,
                     "train %s --val other sub --eval-every 2 --steps %d "
                     "--out part --overwrite --log part.log --accumulate 2",
                     row[i], stop);
            run(model(), 0, words);
            snprintf(data, sizeof data, "%.*s", (int)strcspn(row[i] + 7, "-"), row[i] + 7);
            snprintf(words, sizeof words,
                     "train --data %s --val other sub --resume --steps 6 --out part --log part.log",
                     data);
            run(model(), 0, words);
            assert_true(folder_same(&folder, "whole", "part"));
            for (int step = 1; step <= 6; step++)
                assert_true(logged("whole.log", "loss", step) == logged("part.log", "loss", step));
        }
    }
}

static void resume_refuses_other_data(void **state) {
    (void)state;
    static const char *const other[] = { "text:0.3 other:0.71", "other:0.7 text:0.3", "text other",
                                         "text:0.3 ids:0.7", "text:0.3 l.jsonl:0.7" };
    run(model(), 0, "train --data text:0.3 other:0.7 --steps 3 --out r");
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        char words[256];
        snprintf(words, sizeof words, "train --data %s --resume --steps 5 --out r", other[i]);
        run(model(), 1, words);
        says("expected data_sha256");
        says("the data has changed since the run was begun");
    }
    run(model(), 0, "train --data text:3e-1 other:.7 --resume --steps 5 --out r");
}

/* What the hash in a checkpoint was before the ends of texts counted: that of all their bytes. */
static void write_joined_hash(const char *name, const char *bytes, size_t n, bool val) {
    Sha256 s;
    char sum[65];
    size_t size;
    sha256_start(&s);
    sha256_add(&s, bytes, n);
    sha256_text(&s, sum);
    char *file = folder_read(&folder, name, &size),
         *at = memmem(file, size, val ? "\"val_sha256\":\"" : "\"data_sha256\":\"", 14 + !val);
    assert_non_null(at);
    at = strstr(at + 12, ":\"") + 2;
    assert_true(memcmp(at, sum, 64) != 0);
    memcpy(at, sum, 64);
    memset(file + CHECKSUM_AT, '0', CHECKSUM_DIGITS);
    print_text(sum, sizeof sum, "%016llx", (unsigned long long)xxh64(file, size, 0));
    memcpy(file + CHECKSUM_AT, sum, CHECKSUM_DIGITS);
    folder_write(&folder, name, file, size);
    free(file);
}

/* An end stands between two texts, and not in the one that joins them. */
static void resume_knows_where_texts_end(void **state) {
    (void)state;
    char both[8192], path[300];
    size_t n, m;
    char *text = folder_read(&folder, "text", &n), *other = folder_read(&folder, "other", &m);
    memcpy(both, text, n), memcpy(both + n, other, m);
    folder_write(&folder, "both", both, n + m);
    folder_write(&folder, "x", text, n), folder_write(&folder, "y", other, m);
    snprintf(path, sizeof path, "%s/moved", folder.path);
    assert_int_equal(mkdir(path, 0700), 0);
    folder_write(&folder, "moved/text", text, n), folder_write(&folder, "moved/other", other, m);
    free(text), free(other);
    run(model(), 0, "train --data text other --val text other --steps 2 --out j");
    run(model(), 1, "train --data both --resume --steps 4 --out j");
    says("expected data_sha256");
    run(model(), 1, "train --val both --resume --steps 4 --out j");
    says("expected val_sha256");
    for (int val = 0; val < 2; val++) {
        const char *option = val ? "val" : "data";
        char words[256];
        write_joined_hash("j", both, n + m, val);
        snprintf(words, sizeof words, "train --%s both --resume --steps 4 --out j", option);
        run(model(), 1, words);
        snprintf(words, sizeof words, "expected --%s of the 2 words", option);
        says(words);
        snprintf(words, sizeof words, "train --%s x y --resume --steps 4 --out j", option);
        run(model(), 1, words);
        snprintf(words, sizeof words, "expected %s_sha256", option);
        says(words);
        snprintf(words, sizeof words,
                 "train --%s moved/text moved/other --resume --steps %d --out j", option, 3 + val);
        run(model(), 0, words);
    }
    /* it knows them by their ends now */
    run(model(), 0, "train --resume --steps 5 --out j");
}

/* == Orders and epochs ==================================================== */

static void epochs_are_told(void **state) {
    (void)state;
    run(model(), 0, "train --data other --steps 20 --order shuffled --out e --log e.log");
    char *text = folder_read(&folder, "other", NULL);
    double windows = floor(((double)strlen(text) - 1) / 16);
    free(text);
    assert_true(fabs(logged("e.log", "epoch", 20) - 20 * 4 / windows) < 1e-12);
    assert_non_null(strstr(ran.out, "  epoch 1.4"));
    run(model(), 0, "train --data other:3 sub:1 --steps 20 --out e --overwrite --log e.log");
    Json j;
    take_line(&j, "e.log", "epochs", 20);
    assert_int_equal(json_get(&j, j.node, "epochs")->count, 2);
    json_free(&j);
    /* another order, the same windows at the end of an epoch; another seed, another order */
    run(model(), 0,
        "train --data other --steps 20 --order sequential --out e --overwrite --log f.log");
    assert_true(logged("e.log", "loss", 1) != logged("f.log", "loss", 1));
    run(model(), 0, "train --data other --steps 3 --order shuffled --out a --log a.log");
    run(model(), 0,
        "train --data other --steps 3 --order shuffled --data-seed 9 --out b --log b.log");
    assert_true(logged("a.log", "loss", 1) != logged("b.log", "loss", 1));
}

/* == Token files ========================================================== */

static void trains_on_tokens(void **state) {
    (void)state;
    run(mute(), 0, "train --data ids --val wide --steps 5 --eval-every 5 --out m --log m.log");
    assert_true(isfinite(logged("m.log", "val_loss", 5)));
    run(mute(), 0, "eval --weights m --data ids");
    assert_non_null(strstr(ran.out, "bits_per_byte  not known"));
    run(mute(), 0, "eval --weights m --data ids --json");
    assert_non_null(strstr(ran.out, "\"bits_per_byte\": null"));
    run(mute(), 1, "train --data text --steps 5 --out m2");
    says("found a spec without one");
    run(model(), 1, "train --data ids --steps 5 --out m2");
    says("expected text that the tokenizer \"chars\" is learnt from");
    assert_false(folder_has(&folder, "m2"));
}

/* Cut while it is trained on: status 4, no signal, and what was done is there to go on from. */
static void a_cut_file_ends_training(void **state) {
    (void)state;
    char path[300];
    write_ids("cut", 2, 200000, 8);
    pid_t pid = program_start(mute(), &folder, NULL,
                              "train --data cut --steps 1000000000 --save-every 1000000 --out c "
                              "--log c.log --order random");
    for (int i = 0; i < 2000 && !folder_has(&folder, "c.log"); i++)
        usleep(10000);
    usleep(300000);
    snprintf(path, sizeof path, "%s/cut", folder.path);
    assert_int_equal(truncate(path, 3000), 0);
    assert_int_equal(program_wait(pid), 4);
    char *err = folder_read(&folder, "stderr", NULL);
    assert_non_null(strstr(err, "error: cut: the file "));
    free(err);
    assert_true(folder_has(&folder, "c"));
}

/* Of an evaluation that there is not, of a member of lines that there are not. */
static void refuses_what_is_without_effect(void **state) {
    (void)state;
    run(mute(), 2, "train --data ids --steps 1 --out none --eval-every 1");
    says("train: --eval-every: expected --val, --val-share or --resume with it, found none");
    run(mute(), 0, "train --data ids --steps 1 --out idle");
    run(mute(), 2, "train --resume --steps 2 --out idle --val-tokens 5");
    says("train: --val-tokens: expected --val or --val-share with it, or in the run");
    run(mute(), 2, "train --data ids --steps 1 --out none --field body");
    says("--field body: expected JSON lines, of which it is a member, found other data");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluates_files_by_name),
        cmocka_unit_test(resumes_bit_for_bit),
        cmocka_unit_test(resume_refuses_other_data),
        cmocka_unit_test(resume_knows_where_texts_end),
        cmocka_unit_test(refuses_what_is_without_effect),
        cmocka_unit_test(epochs_are_told),
        cmocka_unit_test(trains_on_tokens),
        cmocka_unit_test(a_cut_file_ends_training),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
