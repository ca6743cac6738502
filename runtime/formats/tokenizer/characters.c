/* SPDX-License-Identifier: MIT
** Classes of characters by utf8proc's categories; see characters.h. */
#include "characters.h"

#include <utf8proc.h>

#include "utf8.h"

bool character_space(int32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028
        || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Symbols that are Alphabetic: letters in circles and squares. */
static bool enclosed(int32_t c) {
    return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149)
        || (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

bool character_word(int32_t c) {
    utf8proc_category_t k = utf8proc_category(c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC
        || c == 0x200c || c == 0x200d || enclosed(c);
}

bool character_number(int32_t c) {
    utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}

bool character_punctuation(int32_t c) {
    utf8proc_category_t k = utf8proc_category(c);
    if (c < 0x80)
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96)
            || (c >= 123 && c <= 126);
    return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

int character_at(const char *text, size_t length, size_t at, int32_t *c) {
    if (!(text[at] & 0x80)) {
        *c = text[at];
        return 1;
    }
    int n = utf8_next(text + at, length - at, c);
    if (!n) *c = 0xfffd;
    return n ? n : 1;
}

static size_t characters_before(const char *text, size_t at, int32_t *c) {
    size_t from = at - 1;
    while (from && at - from < 4 && (text[from] & 0xc0) == 0x80)
        from--;
    character_at(text, at, from, c);
    return from;
}

size_t characters_after_space(const char *text, size_t length, size_t at) {
    int32_t c;
    while (at < length) {
        int n = character_at(text, length, at, &c);
        if (!character_space(c)) break;
        at += (size_t)n;
    }
    return at;
}

size_t characters_before_space(const char *text, size_t at) {
    int32_t c;
    while (at) {
        size_t from = characters_before(text, at, &c);
        if (!character_space(c)) break;
        at = from;
    }
    return at;
}

bool characters_word_before(const char *text, size_t at) {
    int32_t c;
    if (!at) return false;
    characters_before(text, at, &c);
    return character_word(c);
}

bool characters_word_after(const char *text, size_t length, size_t at) {
    int32_t c;
    if (at >= length) return false;
    character_at(text, length, at, &c);
    return character_word(c);
}

/* Bytes of the longest beginning of a character there, 1 at least. */
static size_t characters_broken(const char *text, size_t length) {
    int n = 1;
    while ((size_t)n < length && n < 4 && utf8_begins((const unsigned char *)text, n + 1) >= 0)
        n++;
    return utf8_begins((const unsigned char *)text, 1) < 0 ? 1 : (size_t)n;
}

size_t characters_valid(const char *text, size_t length, size_t at) {
    int32_t c;
    while (at < length) {
        if (!(text[at] & 0x80)) {
            at++;
            continue;
        }
        int n = utf8_next(text + at, length - at, &c);
        if (!n) break;
        at += (size_t)n;
    }
    return at;
}

bool characters_mend(Text *out, const char *text, size_t length) {
    size_t from = 0, at = characters_valid(text, length, 0);
    if (at == length) return false;
    while (at < length) {
        text_bytes(out, text + from, at - from);
        text_bytes(out, "\xef\xbf\xbd", 3);
        from = at + characters_broken(text + at, length - at);
        at = characters_valid(text, length, from);
    }
    text_bytes(out, text + from, length - from);
    return true;
}
