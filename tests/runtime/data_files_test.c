/* SPDX-License-Identifier: MIT
** Words to files: folders, weights, what is refused, and what data is known by. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "data_words.h"
#include "scratch.h"

static void refused(void **state, const char *text, int status, const char *says) {
    Data d;
    Error e = { 0 };
    int found = data_of(&d, state, text, NULL, false, &e);
    if (found != status || !strstr(e.text, says))
        fail_msg("expected %d, \"%s\"\n  found %d, \"%s\"", status, says, found, e.text);
    assert_null(d.tokens);
}

static void write_text(void **state, const char *name, const char *text) {
    char path[SCRATCH_PATH];
    scratch_write(scratch_path(state, name, path), text, strlen(text));
}

static void make_folder(void **state, const char *name) {
    char path[SCRATCH_PATH];
    assert_int_equal(mkdir(scratch_path(state, name, path), 0700), 0);
}

/* The names of all files, behind the folder's, with blanks between. */
static void files_of(void **state, const char *text, char names[2048]) {
    DataNames n;
    DataFiles f;
    Error e = { 0 };
    const DataWords words = data_names(&n, state, text);
    if (data_files_open(&f, &words, &e)) fail_msg("%s", e.text);
    *names = 0;
    for (int i = 0; i < f.files; i++) {
        if (i) strcat(names, " ");
        strcat(names, f.file[i].path + strlen(*state) + 1);
    }
    data_files_free(&f);
}

static void bad_files_are_refused(void **state) {
    char path[SCRATCH_PATH];
    refused(state, "@/absent", STATUS_USER, "cannot open");
    refused(state, "/dev/zero", STATUS_USER, "found a device");
    write_text(state, "empty", "");
    refused(state, "@/empty", STATUS_USER, "found an empty file");
    assert_int_equal(mkfifo(scratch_path(state, "pipe", path), 0600), 0);
    refused(state, "@/pipe", STATUS_USER, "found a pipe");
    if (geteuid()) { /* root reads everything */
        write_text(state, "closed", "text");
        assert_int_equal(chmod(scratch_path(state, "closed", path), 0), 0);
        refused(state, "@/closed", STATUS_USER, "cannot open");
        assert_int_equal(chmod(path, 0600), 0);
    }
    Error e = { 0 };
    DataFiles f;
    assert_int_equal(data_files_open(&f, &(DataWords){ "--data", NULL, 0, "text" }, &e),
                     STATUS_USAGE);
}

static void folders_are_read_in_order(void **state) {
    char names[2048], path[SCRATCH_PATH];
    make_folder(state, "f"), make_folder(state, "f/b"), make_folder(state, "f/.git");
    make_folder(state, "f/hollow");
    write_text(state, "f/c.txt", "c"), write_text(state, "f/B", "B");
    write_text(state, "f/b/z", "z"), write_text(state, "f/b/10", "10");
    write_text(state, "f/b/9", "9"), write_text(state, "f/.hidden", "h");
    write_text(state, "f/.git/x", "x"), write_text(state, "f/a", "a");
    /* a link to a file is that file; one to a folder may come round and is left out */
    assert_int_equal(symlink("b/z", scratch_path(state, "f/link", path)), 0);
    assert_int_equal(symlink("..", scratch_path(state, "f/b/round", path)), 0);
    files_of(state, "@/f", names);
    assert_string_equal(names, "f/B f/a f/b/10 f/b/9 f/b/z f/c.txt f/link");
    files_of(state, "@/f/ @/f/a", names);
    assert_string_equal(names, "f/B f/a f/b/10 f/b/9 f/b/z f/c.txt f/link f/a");
    refused(state, "@/f/hollow", STATUS_USER, "expected a folder with files, found none");
    assert_int_equal(symlink("nowhere", scratch_path(state, "f/b/broken", path)), 0);
    refused(state, "@/f", STATUS_USER, "f/b/broken: cannot open");
    assert_int_equal(unlink(path), 0);
    write_text(state, "f/b/none", "");
    refused(state, "@/f", STATUS_USER, "f/b/none: expected text, found an empty file");
}

static void folders_too_deep_are_refused(void **state) {
    char path[SCRATCH_PATH] = "deep";
    for (int i = 0; i <= DATA_FOLDERS_DEEP; i++) {
        make_folder(state, path);
        strcat(path, "/d");
    }
    write_text(state, path, "x");
    refused(state, "@/deep", STATUS_LIMIT, "expected folders at most 64 deep");
}

/* == Weights ============================================================== */

static void weights_are_behind_names(void **state) {
    static const struct {
        const char *words;
        double weight[2];
    } row[] = {
        { "@/w", { 0 } },        { "@/w:2 @/x:0.5", { 2, 0.5 } }, { "@/w:1e-3", { 1e-3 } },
        { "@/y:0.3", { 0 } },    { "@/y:0.3:4", { 4 } },          { "@/w:.5", { .5 } },
        { "@/folder:3", { 3 } },
    };
    write_text(state, "w", "ww"), write_text(state, "x", "xx"), write_text(state, "y:0.3", "yy");
    make_folder(state, "folder"), write_text(state, "folder/a", "a");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Data d;
        assert_int_equal(data_of(&d, state, row[i].words, NULL, false, NULL), 0);
        for (int k = 0; k < d.sources; k++)
            assert_true(d.source[k].weight == row[i].weight[k]);
        data_free(&d);
    }
    refused(state, "@/w:0", STATUS_USER, "expected a weight above 0 and at most 1e9");
    refused(state, "@/w:-1", STATUS_USER, "expected a weight above 0");
    refused(state, "@/w:1e400", STATUS_USER, "expected a weight above 0");
    refused(state, "@/w:0.3x", STATUS_USER, "expected a weight above 0");
    refused(state, "@/w:x", STATUS_USER, "cannot open");
    refused(state, "@/w:1 @/x", STATUS_USER, "/x without one");
    refused(state, "@/w @/x:1", STATUS_USER, "/w without one");
}

/* == What data is known by ================================================ */

static void identity(void **state, const char *text, char out[65]) {
    Data d;
    Error e = { 0 };
    if (data_of(&d, state, text, NULL, false, &e)) fail_msg("%s", e.text);
    memcpy(out, d.files.sha256, 65);
    data_free(&d);
}

static void small_text_is_known_by_all_its_bytes(void **state) {
    char one[65], other[65];
    write_text(state, "h1", "a"), write_text(state, "h2", "bc");
    write_text(state, "h3", "abc"), write_text(state, "h4", "ab"), write_text(state, "h5", "c");
    identity(state, "@/h3", one);
    assert_string_equal(one, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    /* of several texts it counts where they end */
    identity(state, "@/h1 @/h2", other);
    assert_string_not_equal(one, other);
    identity(state, "@/h4 @/h5", one);
    assert_string_not_equal(one, other);
    /* shares and lines are other data than the same bytes */
    identity(state, "@/h1:1 @/h2:1", other);
    assert_string_not_equal(one, other);
    identity(state, "@/h1:2 @/h2:1", one);
    assert_string_not_equal(one, other);
    write_text(state, "l", "{\"text\":\"a\"}"), write_text(state, "l.jsonl", "{\"text\":\"a\"}");
    identity(state, "@/l", one), identity(state, "@/l.jsonl", other);
    assert_string_not_equal(one, other);
}

/* A file too large to be read through: its size counts, its ends, and what lies between. */
static void large_files_are_known_by_samples(void **state) {
    enum { MORE = 1 << 20 };
    char path[SCRATCH_PATH], was[65], now[65], head[STREAM_HEAD];
    memset(head, 'x', sizeof head); /* what is looked at whether it is text; a hole is none */
    scratch_write(scratch_path(state, "large", path), head, sizeof head);
    assert_int_equal(truncate(path, (off_t)DATA_WHOLE + MORE), 0);
    identity(state, "@/large", was);
    identity(state, "@/large", now);
    assert_string_equal(was, now);
    static const off_t at[] = { 0, ((off_t)DATA_WHOLE + MORE - 4096) / 64 * 32 + 5,
                                (off_t)DATA_WHOLE + MORE - 1 };
    for (int i = 0; i < 3; i++) {
        int fd = open(path, O_WRONLY);
        assert_true(fd >= 0 && pwrite(fd, "y", 1, at[i]) == 1);
        close(fd);
        identity(state, "@/large", now);
        assert_string_not_equal(was, now);
        memcpy(was, now, sizeof was);
    }
    assert_int_equal(truncate(path, (off_t)DATA_WHOLE + MORE + 1), 0);
    identity(state, "@/large", now);
    assert_string_not_equal(was, now);
}

/* == Files that change ==================================================== */

static void changes_while_reading_are_noticed(void **state) {
    char path[SCRATCH_PATH], byte;
    Input in;
    Error e = { 0 };
    scratch_write(scratch_path(state, "moving", path), "0123456789", 10);
    assert_int_equal(input_open(&in, path, &e), 0);
    assert_int_equal(input_unchanged(&in, &e), 0);
    assert_int_equal(truncate(path, 5), 0);
    assert_int_equal(input_read(&in, 7, &byte, 1, &e), STATUS_IO);
    assert_non_null(strstr(e.text, "became shorter"));
    assert_int_equal(input_unchanged(&in, &e), STATUS_IO);
    input_close(&in);
    scratch_write(path, "0123456789", 10);
    assert_int_equal(input_open(&in, path, &e), 0);
    struct timespec later[2] = { { .tv_nsec = UTIME_NOW },
                                 { .tv_sec = in.before.st_mtim.tv_sec + 5,
                                   .tv_nsec = in.before.st_mtim.tv_nsec } };
    assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
    assert_int_equal(input_unchanged(&in, &e), STATUS_IO); /* same size, written again */
    assert_non_null(strstr(e.text, "changed while it was read"));
    input_close(&in);
}

static void keep_touching(const char *path) {
    for (time_t t = 1;; t++)
        utimensat(AT_FDCWD, path, (struct timespec[2]){ { .tv_sec = t }, { .tv_sec = t } }, 0);
}

/* Another process writes while the data is loaded: some load must notice, and none crash. */
static void loading_notices_changes(void **state) {
    enum { SIZE = 4 << 20, TRIES = 200 };
    char path[SCRATCH_PATH], *bytes = malloc(SIZE);
    assert_non_null(bytes);
    memset(bytes, 'x', SIZE);
    scratch_write(scratch_path(state, "touched", path), bytes, SIZE);
    free(bytes);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) keep_touching(path);
    int status = STATUS_OK;
    Error e = { 0 };
    for (int i = 0; !status && i < TRIES; i++) {
        Data d;
        status = data_of(&d, state, "@/touched", NULL, false, &e);
        if (!status) data_free(&d);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(status, STATUS_IO);
    assert_non_null(strstr(e.text, "changed while it was read"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(folders_are_read_in_order),
        cmocka_unit_test(folders_too_deep_are_refused),
        cmocka_unit_test(weights_are_behind_names),
        cmocka_unit_test(small_text_is_known_by_all_its_bytes),
        cmocka_unit_test(large_files_are_known_by_samples),
        cmocka_unit_test(changes_while_reading_are_noticed),
        cmocka_unit_test(loading_notices_changes),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
