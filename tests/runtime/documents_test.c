/* SPDX-License-Identifier: MIT
** Documents: pieces of texts, JSON lines, and what is wrong with them, by line. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_words.h"
#include "documents.h"
#include "scratch.h"

/* One file of this name and contents. */
static void open_one(void **state, DataFiles *f, const char *name, const void *bytes, size_t n) {
    char path[SCRATCH_PATH], word[64];
    DataNames names;
    Error e = { 0 };
    scratch_write(scratch_path(state, name, path), bytes, n);
    snprintf(word, sizeof word, "@/%s", name);
    DataWords words = data_names(&names, state, word);
    if (data_files_open(f, &words, &e)) fail_msg("%s", e.text);
}

/* Documents, a line each with <begin> and [piece], or the error behind the folder's name. */
static const char *read_all(void **state, const char *name, const void *bytes, size_t n,
                            bool utf8) {
    static char out[4096];
    DataFiles f;
    DocumentReader r;
    DocumentPiece p;
    Error e = { 0 };
    size_t at = 0;
    open_one(state, &f, name, bytes, n);
    int status = documents_open(&r, &f.file[0], "text", utf8, &e);
    *out = 0;
    while (!status && !(status = documents_next(&r, &p, &e)) && p.text)
        at += (size_t)snprintf(out + at, sizeof out - at, "%s[%.*s]%s", p.begins ? "<" : "",
                               (int)p.length, p.text, p.ends ? ">" : "");
    if (status) snprintf(out, sizeof out, "%d %s", status, e.text + strlen(*state) + 1);
    documents_close(&r);
    data_files_free(&f);
    return out;
}

static void lines_are_documents(void **state) {
    static const struct {
        const char *lines, *says;
    } row[] = {
        { "{\"text\":\"a\"}\n{\"text\":\"b\"}\n", "<[a]><[b]>" },
        { "{\"text\":\"a\"}\r\n \t\r\n\n{\"id\":{\"text\":1},\"text\":\"b\\n\"}", "<[a]><[b\n]>" },
        { "{\"text\":\"\"}\n{\"text\":\"\\ud83d\\ude00\"}", "<[\xf0\x9f\x98\x80]>" },
        { "\n\n", "" },
        { "{\"text\":\"a\"}\n{\"tent\":\"b\"}\n",
          "1 l.jsonl:2: expected the field \"text\" (--field), found none" },
        { "{\"text\":1}", "1 l.jsonl:1: expected a string as \"text\", found a number" },
        { "\n[\"text\"]", "1 l.jsonl:2: expected an object, found an array" },
        { "\"text\"", "1 l.jsonl:1: expected an object, found a string" },
        { "{\"text\":\"a\"} x", "1 l.jsonl:1:byte 13: expected the end, found 'x'" },
        { "{\"text\":\"\\ud800\"}",
          "1 l.jsonl:1:byte 15: expected the second half of a surrogate pair, found '\"'" },
        { "{\"text\":\"\xff\"}", "1 l.jsonl:1:byte 9: expected UTF-8, found byte 0xff" },
        { "{\"text\":\"\\u0000\"}",
          "1 l.jsonl:1:byte 15: expected a string without NUL characters, found '\"'" },
        { "{\"text\":\"a",
          "1 l.jsonl:1:byte 10: expected a string's character or '\"', found the "
          "end" },
        { "{\"text\":\"a\",\"text\":\"b\"}",
          "1 l.jsonl:1:text: expected one value, found the key twice" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(read_all(state, "l.jsonl", row[i].lines, strlen(row[i].lines), false),
                            row[i].says);
    assert_string_equal(read_all(state, "l.txt", "{\"text\":\"a\"}", 12, false),
                        "<[{\"text\":\"a\"}]>");
}

/* Lines longer than what is read at once, and longer than any may be. */
static void long_lines(void **state) {
    size_t n = (3u << 20) + 17;
    char *line = malloc((size_t)JSONL_LINE + 4096);
    DataFiles f;
    DocumentReader r;
    DocumentPiece p;
    Error e = { 0 };
    assert_non_null(line);
    memset(line, 'x', (size_t)JSONL_LINE + 4096);
    memcpy(line, "{\"text\":\"b\"}\n{\"text\":\"", 22);
    memcpy(line + 22 + n, "\"}\n{\"text\":\"c\"}", 15);
    open_one(state, &f, "long.jsonl", line, 22 + n + 15);
    assert_int_equal(documents_open(&r, &f.file[0], "text", false, &e), 0);
    static const size_t length[] = { 1, 0, 1 };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(documents_next(&r, &p, &e), 0);
        assert_int_equal(p.length, length[i] ? length[i] : n);
    }
    assert_int_equal(documents_next(&r, &p, &e), 0);
    assert_null(p.text);
    documents_close(&r), data_files_free(&f);
    memset(line, 'x', (size_t)JSONL_LINE + 4096);
    line[1] = '\n';
    line[0] = ' ';
    open_one(state, &f, "endless.jsonl", line, (size_t)JSONL_LINE + 4096);
    assert_int_equal(documents_open(&r, &f.file[0], "text", false, &e), 0);
    assert_int_equal(documents_next(&r, &p, &e), STATUS_LIMIT);
    assert_non_null(strstr(e.text, "endless.jsonl:2: expected a line of at most 67108864 bytes"));
    documents_close(&r), data_files_free(&f);
    free(line);
}

/* A text of n bytes, put together again from its pieces; *cut: where the first ends. */
static void joins(void **state, const char *text, size_t n, size_t *cut) {
    DataFiles f;
    DocumentReader r;
    DocumentPiece p;
    size_t at = 0;
    open_one(state, &f, "text", text, n);
    assert_int_equal(documents_open(&r, &f.file[0], "text", true, NULL), 0);
    while (!documents_next(&r, &p, NULL) && p.text) {
        assert_int_equal(p.begins, at == 0);
        assert_true(at + p.length <= n && !memcmp(p.text, text + at, p.length));
        if (!at) *cut = p.length;
        at += p.length;
        assert_int_equal(p.ends, at == n);
    }
    assert_int_equal(at, n);
    documents_close(&r), data_files_free(&f);
}

static void texts_are_cut_where_nothing_joins(void **state) {
    size_t n = 2 * (size_t)DOCUMENT_PIECE + 12345, cut;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, '.', n);
    joins(state, text, n, &cut);
    assert_int_equal(cut, DOCUMENT_PIECE);
    text[DOCUMENT_PIECE - 50] = '\n';
    joins(state, text, n, &cut);
    assert_int_equal(cut, DOCUMENT_PIECE - 50); /* no letter in front, but a line break */
    text[DOCUMENT_PIECE - 500] = '\n', text[DOCUMENT_PIECE - 501] = 'e';
    joins(state, text, n, &cut);
    assert_int_equal(cut, DOCUMENT_PIECE - 500);
    for (int begin = 1; begin <= 4; begin++) { /* a character across the end */
        memset(text, '.', n);
        memcpy(text + DOCUMENT_PIECE - begin, "\xf0\x9f\x98\x80", 4);
        joins(state, text, n, &cut);
        assert_int_equal(cut, begin == 4 ? DOCUMENT_PIECE : DOCUMENT_PIECE - begin);
    }
    free(text);
}

static void utf8_is_asked_for(void **state) {
    assert_string_equal(read_all(state, "latin", "caf\xe9 au lait", 12, true),
                        "1 latin:byte 3: expected UTF-8, found byte 0xe9");
    assert_string_equal(read_all(state, "latin", "caf\xe9", 4, false), "<[caf\xe9]>");
    assert_string_equal(read_all(state, "half", "x\xc3", 2, true),
                        "1 half:byte 1: expected UTF-8, found byte 0xc3");
    size_t n = (size_t)DOCUMENT_PIECE + 10;
    char *text = malloc(n), says[128];
    assert_non_null(text);
    memset(text, '.', n);
    text[n - 3] = (char)0xff;
    snprintf(says, sizeof says, "1 far:byte %zu: expected UTF-8, found byte 0xff", n - 3);
    assert_string_equal(read_all(state, "far", text, n, true), says);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_documents),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(texts_are_cut_where_nothing_joins),
        cmocka_unit_test(utf8_is_asked_for),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
