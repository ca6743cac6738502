/* SPDX-License-Identifier: MIT
** Which characters may be written to a terminal, and how the others are escaped; see escape.h.
*/
#include "escape.h"

#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

enum { NON_JOINER = 0x200c, JOINER = 0x200d }; /* of letters and pictures: text, if invisible */

static bool harmful(utf8proc_int32_t c) {
    utf8proc_category_t k = utf8proc_category(c);
    return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_ZL || k == UTF8PROC_CATEGORY_ZP
        || (k == UTF8PROC_CATEGORY_CF && c != NON_JOINER && c != JOINER);
}

/* The character's bytes, and *c, which is -1 where they are no UTF-8. */
static size_t next(const char *from, size_t length, utf8proc_int32_t *c) {
    utf8proc_ssize_t rest = length < 4 ? (utf8proc_ssize_t)length : 4;
    utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)from, rest, c);
    if (used > 0) return (size_t)used;
    *c = -1;
    return 1;
}

size_t text_character(const char *from, size_t length, bool *inert) {
    utf8proc_int32_t c;
    size_t used = next(from, length, &c);
    *inert = c >= 0 && !harmful(c);
    return used;
}

static size_t escape_one(char to[16], utf8proc_int32_t c, unsigned char byte) {
    if (c == '\n') return (size_t)snprintf(to, 16, "\\n");
    if (c == '\t') return (size_t)snprintf(to, 16, "\\t");
    if (c < 0x80) return (size_t)snprintf(to, 16, "\\x%02x", byte);
    return (size_t)snprintf(to, 16, c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
}

/* 'keep': ASCII characters that stay whatever they are. */
static size_t escape(char *to, size_t size, const char *from, size_t length, const char *keep) {
    size_t n = 0;
    if (!size) return 0;
    for (size_t i = 0; i < length;) {
        char piece[16];
        utf8proc_int32_t c;
        size_t used = next(from + i, length - i, &c), put = used;
        bool stays = c > 0 && c < 0x80 && strchr(keep, (int)c);
        if (!stays && (c < 0 || harmful(c))) put = escape_one(piece, c, (unsigned char)from[i]);
        else memcpy(piece, from + i, put);
        if (n + put >= size) break;
        memcpy(to + n, piece, put);
        n += put;
        i += used;
    }
    to[n] = 0;
    return n;
}

size_t text_escape(char *to, size_t size, const char *from, size_t length) {
    return escape(to, size, from, length, "");
}

size_t text_escape_lines(char *to, size_t size, const char *from, size_t length) {
    return escape(to, size, from, length, "\n\t");
}
