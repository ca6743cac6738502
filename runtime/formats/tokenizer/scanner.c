/* SPDX-License-Identifier: MIT
** Scanners; see scanner.h.  What a match is, the comments say in the expressions' own words. */
#include "scanner.h"

#include <string.h>

#include <utf8proc.h>

#include "characters.h"

typedef enum ScannerClass { OTHER, LETTER, NUMBER, SPACE } ScannerClass;

typedef struct Scanner {
    const char *pattern;
    int numbers;   /* of \p{N}{1,n}; 0: any number, with a space before it */
    bool endless;  /* \s++$ comes first: white space at the end is one part */
    bool caseless; /* 'S as well as 's; and all that follows GPT-2's expression in that */
} Scanner;

#define SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static const Scanner scanner_known[] = {
    { GPT2, 0, false, false },
    { "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", 0, false,
      false },
    { "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s", 0,
      false, false },
    { SHORT "\\p{N}{1,3}" REST, 3, false, true },
    { SHORT "\\p{N}" REST, 1, false, true },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| "
      "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
      3, true, true },
};

const char *scanner_pattern(int scanner) { return scanner_known[scanner].pattern; }

int scanner_find(const char *pattern) {
    for (size_t i = 0; i < sizeof scanner_known / sizeof *scanner_known; i++)
        if (!strcmp(scanner_known[i].pattern, pattern)) return (int)i;
    return -1;
}

/* == Characters =========================================================== */

#define EIGHT(from, class)                                                      \
    [from] = class, [from + 1] = class, [from + 2] = class, [from + 3] = class, \
    [from + 4] = class, [from + 5] = class, [from + 6] = class, [from + 7] = class
#define LETTERS(a)                                                                    \
    EIGHT(a, LETTER), EIGHT(a + 8, LETTER), EIGHT(a + 16, LETTER), [a + 24] = LETTER, \
                                                                        [a + 25] = LETTER
static const unsigned char ascii[128] = {
    ['\t'] = SPACE, ['\n'] = SPACE, ['\v'] = SPACE,     ['\f'] = SPACE,
    ['\r'] = SPACE, [' '] = SPACE,  EIGHT('0', NUMBER), ['8'] = NUMBER,
    ['9'] = NUMBER, LETTERS('A'),   LETTERS('a'),
};

static ScannerClass class_beyond(const char *text, size_t length, size_t at, size_t *to) {
    int32_t c;
    *to = at + (size_t)character_at(text, length, at, &c);
    utf8proc_category_t k = utf8proc_category(c);
    if (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO) return LETTER;
    if (k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO) return NUMBER;
    return character_space(c) ? SPACE : OTHER;
}

static inline ScannerClass scanner_class_of(const char *text, size_t length, size_t at,
                                            size_t *to) {
    unsigned char c = (unsigned char)text[at];
    if (c >= 0x80) return class_beyond(text, length, at, to);
    *to = at + 1;
    return ascii[c];
}

/* Behind all from 'at' on that are of one class. */
static inline size_t run_of(ScannerClass class, const char *text, size_t length, size_t at) {
    for (size_t to; at < length && scanner_class_of(text, length, at, &to) == class;)
        at = to;
    return at;
}

static bool line_break(char c) { return c == '\r' || c == '\n'; }

/* == Parts ================================================================ */

/* 's|'t|'re|'ve|'m|'ll|'d: bytes, 0: it is none */
static size_t contraction(const Scanner *x, const char *text, size_t length, size_t at) {
    int fold = x->caseless ? 32 : 0;
    if (at + 1 >= length) return 0;
    int a = (unsigned char)text[at + 1] | fold, b = at + 2 < length ? text[at + 2] | fold : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if ((a == 'r' || a == 'v') && b == 'e') return 3;
    if (a == 'l' && b == 'l') return 3;
    /* the long s is an s in another case */
    bool long_s = fold && at + 2 < length && !memcmp(text + at + 1, "\xc5\xbf", 2);
    return long_s ? 3 : 0;
}

/* \s++$|\s*[\r\n]+|\s+(?!\S)|\s+ */
static size_t spaces(const Scanner *x, const char *text, size_t length, size_t at) {
    size_t last = at, to = at, next, behind_break = 0;
    while (to < length && scanner_class_of(text, length, to, &next) == SPACE) {
        if (line_break(text[to])) behind_break = next;
        last = to;
        to = next;
    }
    if (to == length && x->endless) return to;
    if (x->caseless && behind_break) return behind_break;
    return to == length || last == at ? to : last;
}

static size_t next_gpt2(const Scanner *x, const char *text, size_t length, size_t at) {
    size_t to, from = at;
    if (text[at] == '\'') {
        size_t n = contraction(x, text, length, at);
        if (n) return at + n;
    }
    if (text[at] == ' ' && at + 1 < length) from++;
    ScannerClass class = scanner_class_of(text, length, from, &to);
    if (class == SPACE) return spaces(x, text, length, at);
    return run_of(class, text, length, to);
}

static size_t scanner_numbers(const Scanner *x, const char *text, size_t length, size_t at) {
    size_t to;
    for (int i = 0; i < x->numbers && at < length; i++, at = to)
        if (scanner_class_of(text, length, at, &to) != NUMBER) break;
    return at;
}

size_t scanner_next(int scanner, const char *text, size_t length, size_t at) {
    const Scanner *x = &scanner_known[scanner];
    if (!x->caseless) return next_gpt2(x, text, length, at);
    if (text[at] == '\'') {
        size_t n = contraction(x, text, length, at);
        if (n) return at + n;
    }
    size_t to, behind;
    ScannerClass class = scanner_class_of(text, length, at, &to), next;
    if (class == LETTER) return run_of(LETTER, text, length, to);
    if (class == NUMBER) return scanner_numbers(x, text, length, at);
    next = to < length ? scanner_class_of(text, length, to, &behind) : SPACE;
    if (next == LETTER && !line_break(text[at])) return run_of(LETTER, text, length, behind);
    if (class == SPACE && !(text[at] == ' ' && next == OTHER)) return spaces(x, text, length, at);
    to = run_of(OTHER, text, length, to);
    while (to < length && line_break(text[to]))
        to++;
    return to;
}
