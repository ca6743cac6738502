/* Data: what is refused, which tokens a batch has, that evaluation predicts each token once. */
#include "test.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "data.h"
#include "files.h"
#include "scratch.h"

static void refused(const char *path, bool utf8, int status, const char *says) {
    DataText x;
    Error e = { 0 };
    int found = data_text(&x, &path, 1, utf8, &e);
    if (found != status || !strstr(e.text, says))
        fail_msg("expected %d, \"%s\"\n  found %d, \"%s\"", status, says, found, e.text);
    assert_null(x.bytes);
}

static void bad_files_are_refused(void **state) {
    char path[SCRATCH_PATH];
    refused(scratch_path(state, "absent", path), false, STATUS_USER, "cannot open");
    refused(*state, false, STATUS_USER, "found a folder");
    refused("/dev/zero", false, STATUS_USER, "found a device");
    scratch_write(scratch_path(state, "empty", path), "", 0);
    refused(path, false, STATUS_USER, "found an empty file");
    assert_int_equal(mkfifo(scratch_path(state, "pipe", path), 0600), 0);
    refused(path, false, STATUS_USER, "found a pipe");
    scratch_write(scratch_path(state, "latin", path), "caf\xe9 au lait", 12);
    refused(path, true, STATUS_USER, "latin:byte 3: expected UTF-8, found byte 0xe9");
    if (geteuid()) { /* root reads everything */
        scratch_write(scratch_path(state, "closed", path), "text", 4);
        assert_int_equal(chmod(path, 0), 0);
        refused(path, false, STATUS_USER, "cannot open");
    }
    scratch_write(scratch_path(state, "huge", path), "x", 1);
    assert_int_equal(truncate(path, (off_t)memory_physical()), 0);
    refused(path, false, STATUS_LIMIT, "half of the memory");
}

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
    char path[SCRATCH_PATH], *bytes = calloc(1, SIZE);
    const char *name = path;
    assert_non_null(bytes);
    scratch_write(scratch_path(state, "touched", path), bytes, SIZE);
    free(bytes);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) keep_touching(path);
    int status = STATUS_OK;
    Error e = { 0 };
    for (int i = 0; !status && i < TRIES; i++) {
        DataText x;
        status = data_text(&x, &name, 1, false, &e);
        if (!status) data_text_free(&x);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(status, STATUS_IO);
    assert_non_null(strstr(e.text, "changed while it was read"));
}

/* Characters split between two files are two errors, not one character. */
static void files_are_joined_in_order(void **state) {
    char a[SCRATCH_PATH], b[SCRATCH_PATH];
    scratch_write(scratch_path(state, "a", a), "ab", 2);
    scratch_write(scratch_path(state, "b", b), "c", 1);
    DataText x;
    Error e = { 0 };
    const char *const two[] = { b, a }, *const twice[] = { a, a };
    assert_int_equal(data_text(&x, two, 2, true, &e), 0);
    assert_int_equal(x.length, 3);
    assert_memory_equal(x.bytes, "cab", 3);
    assert_true(x.end[0] == 1 && x.end[1] == 3);
    data_text_free(&x);
    assert_int_equal(data_text(&x, twice, 2, true, &e), 0);
    assert_memory_equal(x.bytes, "abab", 4);
    data_text_free(&x);
    scratch_write(a, "x\xc3", 2);
    scratch_write(b, "\xa9", 1);
    assert_int_equal(data_text(&x, (const char *const[]){ a, b }, 2, false, &e), 0);
    data_text_free(&x);
    assert_int_equal(data_text(&x, (const char *const[]){ a, b }, 2, true, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "a:byte 1: expected UTF-8"));
    assert_int_equal(data_text(&x, NULL, 0, true, &e), STATUS_USAGE);
}

static void the_hash_is_of_the_whole_text(void **state) {
    char a[SCRATCH_PATH], b[SCRATCH_PATH];
    scratch_write(scratch_path(state, "h1", a), "a", 1);
    scratch_write(scratch_path(state, "h2", b), "bc", 2);
    DataText x;
    assert_int_equal(data_text(&x, (const char *const[]){ a, b }, 2, false, NULL), 0);
    assert_string_equal(x.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    data_text_free(&x);
}

/* n tokens with the ids 0, 1, 2, … mod 256 */
static void counted(void **state, Data *d, int n) {
    char path[SCRATCH_PATH], *bytes = malloc((size_t)n);
    const char *name = path;
    assert_non_null(bytes);
    for (int i = 0; i < n; i++)
        bytes[i] = (char)i;
    scratch_write(scratch_path(state, "counted", path), bytes, (size_t)n);
    free(bytes);
    DataText x;
    Tokenizer t;
    assert_int_equal(tokenizer_learn(&t, &tokenizer_bytes, 256, "", 0, NULL), 0);
    assert_int_equal(data_text(&x, &name, 1, false, NULL), 0);
    assert_int_equal(data_tokens(d, &x, &t, NULL), 0);
    data_text_free(&x);
    assert_int_equal(d->count, n);
    assert_int_equal(d->bytes, n - 1);
}

/* Every width: vocabularies beyond 256 and 65536 characters. */
static void chars_of_every_width(void **state) {
    static const struct {
        int32_t characters;
        int width;
    } row[] = { { 200, 1 }, { 252, 1 }, { 253, 2 }, { 65532, 2 }, { 65533, 4 } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        char path[SCRATCH_PATH], *text = malloc(4 * (size_t)row[k].characters);
        const char *name = path;
        size_t n = 0;
        assert_non_null(text);
        for (int32_t i = 0; i < row[k].characters; i++) { /* from U+10000: four bytes each */
            int32_t p = 0x10000 + i;
            text[n++] = (char)(0xf0 | p >> 18), text[n++] = (char)(0x80 | (p >> 12 & 63));
            text[n++] = (char)(0x80 | (p >> 6 & 63)), text[n++] = (char)(0x80 | (p & 63));
        }
        scratch_write(scratch_path(state, "wide", path), text, n);
        free(text);
        DataText x;
        Tokenizer t;
        Data d;
        Error e = { 0 };
        int32_t tokens[8], targets[8];
        assert_int_equal(data_text(&x, &name, 1, true, &e), 0);
        assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 100000, x.bytes, x.length, &e), 0);
        assert_int_equal(data_tokens(&d, &x, &t, &e), 0);
        assert_int_equal(d.width, row[k].width);
        assert_int_equal(d.count, row[k].characters);
        assert_int_equal(d.bytes, 4 * (row[k].characters - 1));
        int64_t last = data_windows(&d, 8) - 1, have = data_window(&d, 8, last, tokens, targets);
        assert_int_equal(targets[have - 1], 4 + row[k].characters - 1);
        data_free(&d);
        data_text_free(&x);
        tokenizer_free(&t);
    }
}

/* == Windows ============================================================== */

static void sequential_windows(void **state) {
    Data d;
    counted(state, &d, 50); /* contexts of 8: (50 - 1) / 8 = 6 windows, two tokens never seen */
    DataOrder o = { .context = 8, .rows = 4 };
    static const int64_t starts[12] = { 0, 8, 16, 24, 32, 40, 0, 8, 16, 24, 32, 40 };
    for (int step = 0; step < 3; step++)
        for (int row = 0; row < 4; row++)
            assert_int_equal(data_start(&d, &o, step, row), starts[4 * step + row]);
    int32_t tokens[32], targets[32];
    data_rows(&d, &o, 1, 0, 4, tokens, targets);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(tokens[i], starts[4 + i / 8] + i % 8);
        assert_int_equal(targets[i], tokens[i] + 1);
    }
    int32_t part[8], part_targets[8];
    /* a micro-batch is a slice of the step's rows */
    data_rows(&d, &o, 1, 2, 1, part, part_targets);
    assert_memory_equal(part, tokens + 16, sizeof part);
    assert_int_equal(data_start(&d, &o, INT64_MAX, 3), ((INT64_MAX % 6) * 4 + 3) % 6 * 8);
    data_free(&d);
    counted(state, &d, 48); /* a sixth window would want a 49th token as its last target */
    assert_int_equal(data_start(&d, &o, 1, 0), 32);
    assert_int_equal(data_start(&d, &o, 1, 1), 0);
    data_free(&d);
    counted(state, &d, 9); /* exactly one window */
    for (int step = 0; step < 3; step++)
        assert_int_equal(data_start(&d, &o, step, 1), 0);
    data_free(&d);
}

static void random_windows_reach_both_ends(void **state) {
    Data d;
    counted(state, &d, 20);
    DataOrder o = { .random = true, .seed = 5, .context = 8, .rows = 4 };
    int times[20] = { 0 };
    for (int step = 0; step < 500; step++)
        for (int row = 0; row < 4; row++) {
            int64_t s = data_start(&d, &o, step, row);
            assert_true(s >= 0 && s <= 20 - 8 - 1);
            assert_int_equal(s, data_start(&d, &o, step, row));
            times[s]++;
        }
    for (int s = 0; s <= 11; s++)
        assert_true(times[s] > 100); /* 167 each on average */
    DataOrder other = o;
    other.seed = 6;
    int same = 0;
    for (int step = 0; step < 100; step++)
        same += data_start(&d, &o, step, 0) == data_start(&d, &other, step, 0);
    assert_true(same < 40);
    data_free(&d);
}

static void too_short_data_is_refused(void **state) {
    Data d;
    Error e = { 0 };
    counted(state, &d, 9);
    assert_int_equal(data_enough(&d, "--data", 8, &e), 0);
    assert_int_equal(data_enough(&d, "--data", 9, &e), STATUS_USER);
    assert_string_equal(
        e.text, "--data: expected at least 10 tokens (a window and its last target), found 9");
    data_free(&d);
}

/* Every token but the first, once, in order, whatever the length. */
static void evaluation_predicts_each_token_once(void **state) {
    for (int n = 1; n <= 40; n++) {
        Data d;
        counted(state, &d, n);
        for (int length = 1; length <= 12; length++) {
            int32_t tokens[12], targets[12];
            int64_t windows = data_windows(&d, length), next = 1;
            for (int64_t i = 0; i < windows; i++) {
                int64_t have = data_window(&d, length, i, tokens, targets);
                assert_true(have == length || (i == windows - 1 && have > 0 && have < length));
                for (int64_t k = 0; k < have; k++, next++) {
                    assert_int_equal(targets[k], next);
                    assert_int_equal(tokens[k], next - 1);
                }
            }
            assert_int_equal(next, n);
        }
        data_free(&d);
    }
}

static void the_share_is_the_last_of_the_data(void **state) {
    Data d, train, val;
    Error e = { 0 };
    int32_t token, target;
    counted(state, &d, 101);
    assert_int_equal(data_split(&d, 0.1, &train, &val, &e), 0);
    assert_int_equal(train.count, 91);
    assert_int_equal(val.count, 10);
    data_window(&val, 1, 0, &token, &target);
    assert_int_equal(token, 91);
    data_window(&train, 1, data_windows(&train, 1) - 1, &token, &target);
    assert_int_equal(target, 90);
    data_free(&val); /* views own nothing */
    data_free(&train);
    assert_int_equal(data_split(&d, 0, &train, &val, &e), 0);
    assert_int_equal(train.count, 101);
    assert_int_equal(val.count, 0);
    assert_int_equal(data_windows(&val, 4), 0);
    assert_int_equal(data_split(&d, 1, &train, &val, &e), STATUS_USER);
    assert_int_equal(data_split(&d, -0.1, &train, &val, &e), STATUS_USER);
    assert_int_equal(data_split(&d, NAN, &train, &val, &e), STATUS_USER);
    data_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(changes_while_reading_are_noticed),
        cmocka_unit_test(loading_notices_changes),
        cmocka_unit_test(files_are_joined_in_order),
        cmocka_unit_test(the_hash_is_of_the_whole_text),
        cmocka_unit_test(chars_of_every_width),
        cmocka_unit_test(sequential_windows),
        cmocka_unit_test(random_windows_reach_both_ends),
        cmocka_unit_test(too_short_data_is_refused),
        cmocka_unit_test(evaluation_predicts_each_token_once),
        cmocka_unit_test(the_share_is_the_last_of_the_data),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
