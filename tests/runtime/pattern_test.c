/* SPDX-License-Identifier: MIT
** Regular expressions of tokenizers: matches seen through windows are those of the whole text, on
** texts of one character too; what looks at the same text again and again is stopped by a count,
** with the expression in the message, however long the text is.
*/
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define TAIL "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"

/* Those of GPT-2, Llama 3, Qwen 2, o200k, DeepSeek V3, Kimi; then what the field has less of. */
static const char *const good[] = {
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" TAIL,
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" TAIL,
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTION "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER
    "+" LOWER "*" CONTRACTION "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" TAIL,
    "[!\"#$%&'()*+,\\-./"
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\\r\\n]*" TAIL,
    "[\\p{Han}]+|" UPPER "*" LOWER "+|" UPPER "+" LOWER
    "*|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" TAIL,
    "\\p{N}{1,3}|[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{30ff}]+",
    "[^\\n]+|[\\n]+",
    "\\d{1,3}(?=(?:\\d{3})*(?!\\d))|\\D+",
    "(?<=a)b+|(?<!c)c+|^x+$|a\\z|(?<=\\s)\\.+(?= )",
    "(?=.*c)[ab]|\\d{2}(?<=\\D\\d\\d)",
    "(?:a(?=b))+|\\s{90}x",
    "(?=[^c]*c)[ab]+|'ll",
};
enum { GOOD = sizeof good / sizeof *good, FIT_FOR_ONE = GOOD - 5 };

/* Of which the last ones match nowhere, or cost that much in one match. */
static const char *const bad[] = { "a*b|a",
                                   "(?=.*b)a|a",
                                   "(?:a|a)*b|a",
                                   "a*a*a*b|a",
                                   "[^b]*b|.",
                                   "(?!a*b)a",
                                   "a+?b|a",
                                   "(a+)+b|a",
                                   "(?:a?)*b|a",
                                   "(?=(?:.|a)*b)a|a",
                                   "a{1,60000}b|a",
                                   "(?>a+a*)b|.",
                                   "(?<=a)a*?a*?b|a",
                                   "(?:a(?=a*c)){2,}|a",
                                   "(?=.*b)a",
                                   "a.*b",
                                   "(?=.*(?=.*(?=.*b)))a",
                                   "(?=.*?(?=.*?(?=.*b)))a|a",
                                   "(?:a(?=.*b)|a)+c|a",
                                   "(?=.*a{60000}c)a|a" };

/* The first match from 'at' on in the whole text, by the library alone. */
static int plain_next(pcre2_code *code, pcre2_match_data *found, const char *text, size_t n,
                      size_t at, size_t *from, size_t *to) {
    int got = pcre2_match(code, (PCRE2_SPTR)text, n, at, PCRE2_NO_UTF_CHECK, found, NULL);
    assert_true(got > 0 || got == PCRE2_ERROR_NOMATCH);
    if (got < 0) return 0;
    *from = pcre2_get_ovector_pointer(found)[0];
    *to = pcre2_get_ovector_pointer(found)[1];
    return 1;
}

static pcre2_code *plain_open(const char *expression) {
    Text rewritten = { 0 };
    int number;
    PCRE2_SIZE at;
    assert_int_equal(pattern_rewrite(&rewritten, expression, PATTERN_RUST, "it", NULL), 0);
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    pcre2_set_newline(c, PCRE2_NEWLINE_LF);
    pcre2_code *code = pcre2_compile(
        (PCRE2_SPTR)rewritten.at, rewritten.length,
        PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY, &number, &at, c);
    assert_non_null(code);
    pcre2_compile_context_free(c);
    text_free(&rewritten);
    return code;
}

/* All matches of a text are the library's. */
static void same_matches(const Pattern *p, pcre2_code *code, const char *text, size_t n) {
    void *memory = NULL;
    pcre2_match_data *found = pcre2_match_data_create(1, NULL);
    for (size_t at = 0; at < n;) {
        size_t from = 0, to = 0, plain_from = 0, plain_to = 0;
        int got = pattern_next(p, text, n, at, &from, &to, &memory);
        int plain = plain_next(code, found, text, n, at, &plain_from, &plain_to);
        if (got != plain || from != plain_from || to != plain_to)
            fail_msg("%s at %zu of %zu: expected %d, %zu to %zu, found %d, %zu to %zu", p->source,
                     at, n, plain, plain_from, plain_to, got, from, to);
        if (!got) break;
        at = to > at ? to : at + 1;
        while (at < n && ((unsigned char)text[at] & 0xc0) == 0x80)
            at++;
    }
    pcre2_match_data_free(found);
    pattern_done(memory);
}

/* Runs of all lengths around those of windows. */
static size_t random_text(uint32_t *seed, char *to, size_t room) {
    static const char *const part[] = {
        "a", "B",  "7", " ", "\n", "\r\n",     "\xe6\x97\xa5", "'s", "'",
        "b", "\t", ".", "x", "c",  "\xcc\x88", "\xc3\xa9",     "'LL"
    };
    size_t n = 0;
    while (n + 1200 < room) {
        *seed = *seed * 1664525 + 1013904223;
        const char *what = part[(*seed >> 16) % (sizeof part / sizeof *part)];
        uint32_t kind = *seed >> 28, times = kind < 12 ? 1 + kind % 3 : 50 + (*seed >> 8) % 300;
        for (uint32_t i = 0; i < times && n + 4 < room; i++) {
            memcpy(to + n, what, strlen(what));
            n += strlen(what);
        }
        if (kind == 15) break;
    }
    return n;
}

static void windows_change_nothing(void **state) {
    (void)state;
    char text[4096];
    uint32_t seed = 7;
    for (int i = 0; i < GOOD; i++) {
        Pattern p;
        Error e = { 0 };
        if (pattern_open(&p, good[i], PATTERN_RUST, "it", &e)) fail_msg("%s", e.text);
        pcre2_code *code = plain_open(good[i]);
        for (int k = 0; k < 300; k++)
            same_matches(&p, code, text, random_text(&seed, text, sizeof text));
        pcre2_code_free(code);
        pattern_free(&p);
    }
}

/* Takes all of a text apart: 0, or the error of it. */
static int take_apart(const Pattern *p, const char *text, size_t n, Error *e) {
    void *memory = NULL;
    int status = 0;
    const PatternPlace place = { "text", text, n, 1000, 0 };
    for (size_t at = 0, from, to; at < n && !status; at = to > at ? to : at + 1) {
        int found = pattern_next(p, text, n, at, &from, &to, &memory);
        if (found < 0) status = pattern_failed(p, found, &place, text + at, e);
        if (found <= 0) break;
    }
    pattern_done(memory);
    return status;
}

static void long_runs_are_taken_apart(void **state) {
    (void)state;
    enum { LONG = 3 << 20 };
    static const char *const run[] = {
        "a", "A", " ", "\n", "\r\n", "7", ".", "\xe6\x97\xa5", " \n"
    };
    char *text = malloc(LONG);
    assert_non_null(text);
    for (int i = 0; i < FIT_FOR_ONE; i++) {
        Pattern p;
        Error e = { 0 };
        assert_int_equal(pattern_open(&p, good[i], PATTERN_RUST, "it", &e), 0);
        for (size_t k = 0; k < sizeof run / sizeof *run; k++) {
            size_t m = strlen(run[k]), n = LONG / m * m;
            for (size_t at = 0; at < n; at += m)
                memcpy(text + at, run[k], m);
            if (take_apart(&p, text, n, &e)) fail_msg("%s", e.text);
        }
        pattern_free(&p);
    }
    free(text);
}

static void what_grows_with_the_square_is_stopped(void **state) {
    (void)state;
    enum { LONG = 1000000 };
    char *text = malloc(LONG);
    assert_non_null(text);
    memset(text, 'a', LONG);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t n = 100000; n <= LONG; n *= 10) {
            Pattern p;
            Error e = { 0 };
            assert_int_equal(pattern_open(&p, bad[i], PATTERN_ONIGURUMA, "t.json:at", &e), 0);
            int status = take_apart(&p, text, n, &e);
            if (status != STATUS_LIMIT || !strstr(e.text, "(t.json:at: ")
                || !strstr(e.text, bad[i]))
                fail_msg("%s: %d %s", bad[i], status, e.text);
            pattern_free(&p);
        }
    free(text);
}

/* Those of the field take no counted match for long runs. */
static void ways_to_repeat_are_told_apart(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool flat;
        uint32_t least;
    } row[] = {
        { "a*b|a", true, 0 },
        { "(?:a|b)?c+(?!d{5})", true, 5 },
        { "(?:(?![b])[a])+x{3,}", true, 3 },
        { "(?=.*b)a", false, 0 },
        { "(?<=a)b(?!(?:c+)?d)", false, 0 },
        { "(?:a|b)*", false, 0 },
        { "(?:a?)*", false, 0 },
        { "(?:a{2}){2,9}", false, 2 },
        { "(?:a(?:b|c)d)+", false, 0 },
        { "[(?:a|b)*\\]]+\\(a*\\)*|\\p{Lu}{7}\\x{123}*", true, 7 },
        { "(?=[.]{9,99})a", false, 9 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        bool flat;
        uint32_t least;
        pattern_cost(row[i].text, &flat, &least);
        if (flat != row[i].flat || least != row[i].least)
            fail_msg("%s: found %d, %u", row[i].text, flat, least);
    }
    for (int i = 0; i < FIT_FOR_ONE; i++) {
        Pattern p;
        Error e = { 0 };
        assert_int_equal(pattern_open(&p, good[i], PATTERN_RUST, "it", &e), 0);
        if (!p.flat) fail_msg("%s", good[i]);
        pattern_free(&p);
    }
}

static void bad_expressions_are_told(void **state) {
    (void)state;
    char large[64], many[64];
    Pattern p;
    Error e = { 0 };
    snprintf(large, sizeof large, "(?:(?:abc){1000}){1000}");
    assert_int_equal(pattern_open(&p, large, PATTERN_RUST, "it", &e), STATUS_USER);
    assert_null(strstr(e.text, "found :"));
    assert_non_null(strstr(e.text, "it: expected a regular expression, found one whose "));
    snprintf(many, sizeof many, "a|[z-a]");
    assert_int_equal(pattern_open(&p, many, PATTERN_RUST, "it", &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found at '"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_change_nothing),
        cmocka_unit_test(long_runs_are_taken_apart),
        cmocka_unit_test(what_grows_with_the_square_is_stopped),
        cmocka_unit_test(ways_to_repeat_are_told_apart),
        cmocka_unit_test(bad_expressions_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
