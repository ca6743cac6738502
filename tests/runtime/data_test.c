/* SPDX-License-Identifier: MIT
** Data as tokens: how files follow each other, that evaluation predicts each token once. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data_words.h"
#include "scratch.h"

static void write_file(void **state, const char *name, const void *bytes, size_t n) {
    char path[SCRATCH_PATH];
    scratch_write(scratch_path(state, name, path), bytes, n);
}

static void write_text(void **state, const char *name, const char *text) {
    write_file(state, name, text, strlen(text));
}

/* The ids of a source are these. */
static void holds(const Data *d, int source, const int32_t *ids, int64_t count) {
    int32_t *found = calloc((size_t)count + 1, sizeof *found);
    assert_non_null(found);
    assert_int_equal(d->source[source].count, count);
    assert_int_equal(data_read(d, source, 0, count, found, NULL), 0);
    assert_memory_equal(found, ids, (size_t)count * sizeof *ids);
    for (int64_t i = 0; i < count; i++) { /* one by one */
        assert_int_equal(data_read(d, source, i, 1, found, NULL), 0);
        assert_int_equal(found[0], ids[i]);
    }
    free(found);
}

static void files_are_joined_in_order(void **state) {
    Data d;
    write_text(state, "a", "ab");
    write_text(state, "b", "c");
    assert_int_equal(data_of(&d, state, "@/b @/a", NULL, false, NULL), 0);
    assert_int_equal(d.sources, 1);
    assert_string_equal(d.source[0].name, "--data");
    holds(&d, 0, (int32_t[]){ 'c', 'a', 'b' }, 3);
    assert_int_equal(d.source[0].bytes, 2); /* but for the first token */
    data_free(&d);
    assert_int_equal(data_of(&d, state, "@/a @/a", NULL, true, NULL), 0);
    assert_int_equal(d.sources, 2);
    holds(&d, 1, (int32_t[]){ 'a', 'b' }, 2);
    assert_int_equal(data_count(&d), 4);
    data_free(&d);
    assert_int_equal(data_of(&d, state, "@/a:1 @/b:3", NULL, false, NULL), 0);
    assert_int_equal(d.sources, 2);
    assert_true(d.source[1].weight == 3);
    data_free(&d);
}

/* Of texts, JSON lines and token files; documents without text are none. */
static void ends_stand_between_documents(void **state) {
    enum { END = 3, A = 4, E_ACUTE = 5, Z = 6 };
    char path[SCRATCH_PATH];
    Tokenizer t;
    Data d;
    assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 300, "aaa\xc3\xa9\xc3\xa9z", 8, NULL),
                     0);
    write_text(state, "t", "a\xc3\xa9");
    write_text(state, "l.jsonl",
               "{\"text\": \"z\"}\n\n{\"n\": [1], \"text\": \"\\u00e9a\"}\r\n{\"text\": \"\"}\n"
               "{\"text\":\"a\"}");
    data_write_tokens(scratch_path(state, "k", path), 2, (uint32_t[]){ A, A }, 2);
    assert_int_equal(data_of(&d, state, "@/t @/l.jsonl @/k @/t", &t, false, NULL), 0);
    holds(&d, 0,
          (int32_t[]){ A, E_ACUTE, END, Z, END, E_ACUTE, A, END, A, END, A, A, END, A, E_ACUTE },
          15);
    assert_int_equal(d.source[0].bytes, 0); /* of the token file nobody knows */
    assert_int_equal(data_measure(&d, 0, &t, NULL), 0);
    assert_int_equal(d.source[0].bytes, 12);
    data_free(&d);
    assert_int_equal(data_of(&d, state, "@/t @/l.jsonl", &t, false, NULL), 0);
    assert_int_equal(d.source[0].bytes, 3 - 1 + 1 + 3 + 1);
    data_free(&d);
    tokenizer_free(&t);
}

/* Token files need no tokenizer; texts do. */
static void tokens_need_no_tokenizer(void **state) {
    char path[SCRATCH_PATH];
    DataNames n;
    DataFiles f;
    Data d;
    Error e = { 0 };
    data_write_tokens(scratch_path(state, "w", path), 4, (uint32_t[]){ 7, 100000, 0 }, 3);
    DataWords words = data_names(&n, state, "@/w");
    assert_int_equal(data_files_open(&f, &words, &e), 0);
    assert_int_equal(data_tokens(&d, &f, &(Tokenizer){ 0 }, 100001, false, &e), 0);
    holds(&d, 0, (int32_t[]){ 7, 100000, 0 }, 3);
    data_free(&d);
    write_text(state, "text", "text");
    words = data_names(&n, state, "@/w @/text");
    assert_int_equal(data_files_open(&f, &words, &e), 0);
    assert_int_equal(data_tokens(&d, &f, &(Tokenizer){ 0 }, 100001, false, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found a spec without one"));
    words = data_names(&n, state, "@/w");
    assert_int_equal(data_files_open(&f, &words, &e), 0);
    Tokenizer t;
    assert_int_equal(data_files_learn(&f, &t, &tokenizer_chars, 300, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "expected text that the tokenizer \"chars\" is learnt from"));
    data_files_free(&f);
}

/* n tokens with the ids 1, 2, 3, … up to 255: no text has a NUL */
static void counted(void **state, Data *d, int n) {
    char *bytes = malloc((size_t)n);
    assert_non_null(bytes);
    for (int i = 0; i < n; i++)
        bytes[i] = (char)(1 + i);
    write_file(state, "counted", bytes, (size_t)n);
    free(bytes);
    assert_int_equal(data_of(d, state, "@/counted", NULL, false, NULL), 0);
    assert_int_equal(d->source[0].count, n);
    assert_int_equal(d->source[0].bytes, n - 1);
}

/* Every width: vocabularies beyond 256 and 65536 characters. */
static void chars_of_every_width(void **state) {
    static const struct {
        int32_t characters;
        int width;
    } row[] = { { 200, 1 }, { 252, 1 }, { 253, 2 }, { 65532, 2 }, { 65533, 4 } };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        char *text = malloc(4 * (size_t)row[k].characters);
        size_t n = 0;
        assert_non_null(text);
        for (int32_t i = 0; i < row[k].characters; i++) { /* from U+10000: four bytes each */
            int32_t p = 0x10000 + i;
            text[n++] = (char)(0xf0 | p >> 18), text[n++] = (char)(0x80 | (p >> 12 & 63));
            text[n++] = (char)(0x80 | (p >> 6 & 63)), text[n++] = (char)(0x80 | (p & 63));
        }
        write_file(state, "wide", text, n);
        Tokenizer t;
        Data d;
        Error e = { 0 };
        int32_t tokens[8], targets[8];
        assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 100000, text, n, &e), 0);
        free(text);
        assert_int_equal(data_of(&d, state, "@/wide", &t, false, &e), 0);
        assert_int_equal(d.tokens->store[0].width, row[k].width);
        assert_int_equal(d.source[0].count, row[k].characters);
        assert_int_equal(d.source[0].bytes, 4 * (row[k].characters - 1));
        int64_t last = data_windows(&d, 0, 8) - 1, have;
        assert_int_equal(data_window(&d, 0, 8, last, tokens, targets, &have, &e), 0);
        assert_int_equal(targets[have - 1], 4 + row[k].characters - 1);
        data_free(&d);
        tokenizer_free(&t);
    }
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
    write_text(state, "short", "12345");
    assert_int_equal(data_of(&d, state, "@/counted:1 @/short:2", NULL, false, &e), 0);
    assert_int_equal(data_enough(&d, "--data", 8, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "/short: expected at least 9 tokens"));
    data_free(&d);
}

/* Every token but the first, once, in order, whatever the length. */
static void evaluation_predicts_each_token_once(void **state) {
    for (int n = 1; n <= 40; n++) {
        Data d;
        counted(state, &d, n);
        for (int length = 1; length <= 12; length++) {
            int32_t tokens[12], targets[12];
            int64_t windows = data_windows(&d, 0, length), next = 1, have;
            for (int64_t i = 0; i < windows; i++) {
                assert_int_equal(data_window(&d, 0, length, i, tokens, targets, &have, NULL), 0);
                assert_true(have == length || (i == windows - 1 && have > 0 && have < length));
                for (int64_t k = 0; k < have; k++, next++) {
                    assert_int_equal(targets[k], 1 + next);
                    assert_int_equal(tokens[k], next);
                }
            }
            assert_int_equal(next, n);
        }
        data_free(&d);
    }
}

static void the_share_is_the_last_of_each_source(void **state) {
    Data d, train, val;
    Error e = { 0 };
    int32_t id;
    counted(state, &d, 101);
    assert_int_equal(data_split(&d, 0.1, &train, &val, &e), 0);
    assert_int_equal(train.source[0].count, 91);
    assert_int_equal(val.source[0].count, 10);
    assert_int_equal(data_read(&val, 0, 0, 1, &id, &e), 0);
    assert_int_equal(id, 92);
    assert_int_equal(data_read(&train, 0, 90, 1, &id, &e), 0);
    assert_int_equal(id, 91);
    data_free(&val);
    data_free(&train);
    assert_int_equal(data_split(&d, 0, &train, &val, &e), 0);
    assert_int_equal(train.source[0].count, 101);
    assert_int_equal(data_windows(&val, 0, 4), 0);
    data_free(&val);
    data_free(&train);
    static const double wrong[] = { 1, -0.1, NAN };
    for (int i = 0; i < 3; i++)
        assert_int_equal(data_split(&d, wrong[i], &train, &val, &e), STATUS_USER);
    data_free(&d);
    write_text(state, "ten", "0123456789");
    assert_int_equal(data_of(&d, state, "@/counted:1 @/ten:2", NULL, false, &e), 0);
    assert_int_equal(data_split(&d, 0.2, &train, &val, &e), 0);
    assert_int_equal(val.source[0].count, 20);
    holds(&val, 1, (int32_t[]){ '8', '9' }, 2);
    holds(&train, 1, (int32_t[]){ '0', '1', '2', '3', '4', '5', '6', '7' }, 8);
    data_free(&val), data_free(&train), data_free(&d);
}

/* Many files, more than are held open at once, read in any order. */
static void many_token_files(void **state) {
    enum { FILES = 3 * DATA_OPEN, EACH = 5 };
    char path[SCRATCH_PATH], name[32];
    int32_t id;
    Data d;
    Error e = { 0 };
    assert_int_equal(snprintf(path, sizeof path, "%s/many", (char *)*state) > 0, 1);
    assert_int_equal(mkdir(path, 0700), 0);
    for (uint32_t f = 0; f < FILES; f++) {
        snprintf(name, sizeof name, "many/%05u", f);
        uint32_t ids[EACH] = { f, f + 1, f + 2, f + 3, f + 4 };
        data_write_tokens(scratch_path(state, name, path), 2, ids, EACH);
    }
    Tokenizer none = { .ids = 1000 };
    assert_int_equal(data_of(&d, state, "@/many", &none, false, &e), 0);
    assert_int_equal(d.source[0].count, FILES * EACH);
    for (int64_t i = 0; i < FILES * EACH; i++) {
        int64_t at = i * 7919 % (FILES * EACH);
        assert_int_equal(data_read(&d, 0, at, 1, &id, &e), 0);
        assert_int_equal(id, at / EACH + at % EACH);
    }
    int open = 0;
    for (int i = 0; i < d.tokens->stores; i++)
        open += token_store_is_open(&d.tokens->store[i]);
    assert_true(open > 1 && open <= DATA_OPEN);
    data_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_joined_in_order),
        cmocka_unit_test(ends_stand_between_documents),
        cmocka_unit_test(tokens_need_no_tokenizer),
        cmocka_unit_test(chars_of_every_width),
        cmocka_unit_test(too_short_data_is_refused),
        cmocka_unit_test(evaluation_predicts_each_token_once),
        cmocka_unit_test(the_share_is_the_last_of_each_source),
        cmocka_unit_test(many_token_files),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
