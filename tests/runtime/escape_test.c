/* SPDX-License-Identifier: MIT
** What may go to a terminal stays, all else is made visible, of whatever bytes. */
#include "test.h"

#include "console.h"
#include "escape.h"
#include "svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *from, *to, *lines;
} row[] = {
    { "", "", "" },
    { "\xc3\xa9, \xe6\x97\xa5, \xf0\x9f\x98\x80", "\xc3\xa9, \xe6\x97\xa5, \xf0\x9f\x98\x80",
      "\xc3\xa9, \xe6\x97\xa5, \xf0\x9f\x98\x80" },
    { "a\nb\tc", "a\\nb\\tc", "a\nb\tc" },
    { "\x1b[31m\r\x07\x08", "\\x1b[31m\\x0d\\x07\\x08", "\\x1b[31m\\x0d\\x07\\x08" },
    { "\x7f", "\\x7f", "\\x7f" },
    { "\xc2\x9b[2J", "\\u009b[2J", "\\u009b[2J" },                      /* C1: CSI */
    { "\xe2\x80\xae\xe2\x81\xa6", "\\u202e\\u2066", "\\u202e\\u2066" }, /* directions */
    { "\xe2\x80\xa8", "\\u2028", "\\u2028" },
    { "\xf3\xa0\x80\x81", "\\U000e0001", "\\U000e0001" }, /* a tag */
    { "\xff\xc3", "\\xff\\xc3", "\\xff\\xc3" },
    { "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" }, /* a surrogate */
    { "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf" },               /* longer than need be */
    { "\xe2\x80\x8d", "\xe2\x80\x8d", "\xe2\x80\x8d" },       /* joins pictures */
};

static void escapes(void **state) {
    (void)state;
    char out[256];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t n = text_escape(out, sizeof out, row[i].from, strlen(row[i].from));
        assert_string_equal(out, row[i].to);
        assert_int_equal(n, strlen(out));
        text_escape_lines(out, sizeof out, row[i].from, strlen(row[i].from));
        assert_string_equal(out, row[i].lines);
    }
    text_escape(out, sizeof out, "a\0b", 3);
    assert_string_equal(out, "a\\x00b");
    text_escape_lines(out, sizeof out, "a\0b", 3);
    assert_string_equal(out, "a\\x00b");
}

/* Whatever the bytes: no control character is left, escaping again changes nothing, the room
** that was promised is enough, and less room cuts between characters. */
static void any_bytes(void **state) {
    (void)state;
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        char from[12], whole[64], again[64], cut[9];
        for (size_t i = 0; i < sizeof from; i++)
            from[i] = (char)((random = random * 1664525 + 1013904223) >> 24);
        size_t n = text_escape(whole, text_escape_room(sizeof from), from, sizeof from), used;
        assert_int_equal(text_escape(again, sizeof again, from, sizeof from), n);
        for (size_t i = 0; i < n; i++)
            assert_true((unsigned char)whole[i] >= ' ' && whole[i] != 0x7f);
        assert_int_equal(text_escape(again, sizeof again, whole, n), n);
        assert_string_equal(again, whole);
        size_t less = text_escape(cut, sizeof cut, from, sizeof from);
        assert_true(less < sizeof cut && memcmp(cut, whole, less) == 0);
        for (size_t i = 0; i < n; i += used) {
            bool inert;
            used = text_character(whole + i, n - i, &inert);
            assert_true(inert);
        }
    }
}

/* What console_lines writes arrives escaped, line by line. */
static void console_escapes(void **state) {
    (void)state;
    int ends[2], before = dup(STDOUT_FILENO);
    Text t = { 0 };
    Error e = { 0 };
    char got[64] = "";
    text_add(&t, "one\n\ttwo \x1b[2J\n");
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    dup2(ends[1], STDOUT_FILENO);
    int status = console_lines(&t, &e);
    dup2(before, STDOUT_FILENO);
    close(before);
    close(ends[1]);
    assert_true(read(ends[0], got, sizeof got - 1) > 0);
    close(ends[0]);
    assert_int_equal(status, 0);
    assert_string_equal(got, "one\n\ttwo \\x1b[2J\n");
}

/* A word of any length leaves room for what is said about it. */
static void errors_shorten_words(void **state) {
    (void)state;
    enum { LONG = 1 << 20 };
    char *word = malloc(LONG + 1);
    Error e = { 0 };
    assert_non_null(word);
    for (int size = 250; size <= LONG; size = size < 270 ? size + 1 : size * 2) {
        memset(word, 'k', (size_t)size);
        word[size] = 0;
        memcpy(word + size - 3, "\xe2\x80\xa6", 3);
        assert_int_equal(error_set(&e, STATUS_USER, "a.st:%s: expected %d, found 'b'", word, 8), 1);
        const char *end = strstr(e.text, "\xe2\x80\xa6: expected 8, found 'b'");
        assert_non_null(end);
        assert_int_equal(strlen(end), strlen("...: expected 8, found 'b'"));
        assert_true(end - e.text <= 256);
        assert_int_equal(strstr(e.text, "kk...kk") != NULL, size + 6 > 256);
    }
    free(word);
    for (size_t i = 0; i < 200; i++) {
        char text[1000] = "";
        memset(text, 'x', i);
        for (int k = 0; k < 200; k++)
            strcat(text, "\xe2\x80\xa6");
        error_set(&e, STATUS_USER, "%s", text);
        assert_null(strstr(e.text, "\\x"));
        assert_true(strlen(e.text) <= 256);
    }
}

/* Pages are UTF-8 whatever files are called. */
static void pages_are_utf8(void **state) {
    (void)state;
    Text t = { 0 };
    svg_escaped(&t, "a\x9b<\xe2\x80\xa6\xe2\x80\x1b\xff");
    assert_string_equal(t.at, "a\xef\xbf\xbd&lt;\xe2\x80\xa6\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
    text_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),         cmocka_unit_test(any_bytes),
        cmocka_unit_test(console_escapes), cmocka_unit_test(errors_shorten_words),
        cmocka_unit_test(pages_are_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
