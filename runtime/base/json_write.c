/* SPDX-License-Identifier: MIT
** A text that grows, and JSON written into it; see json.h.  The first failed allocation empties
** the text, and later additions then do nothing.
*/
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

static bool json_write_make_room(Text *t, size_t more) {
    size_t need;
    if (t->failed) return false;
    if (!__builtin_add_overflow(t->length + 1, more, &need)) {
        if (need <= t->room) return true;
        size_t room = need < 256 ? 256 : need + need / 2;
        char *bigger = realloc(t->at, room);
        if (bigger) {
            t->at = bigger;
            t->room = room;
            return true;
        }
    }
    text_free(t);
    t->failed = true;
    return false;
}

void text_bytes(Text *t, const char *bytes, size_t length) {
    if (!json_write_make_room(t, length)) return;
    if (length) memcpy(t->at + t->length, bytes, length);
    t->length += length;
    t->at[t->length] = 0;
}

void text_add(Text *t, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = print_textv(NULL, 0, format, arguments);
    if (n >= 0 && json_write_make_room(t, (size_t)n)) {
        print_textv(t->at + t->length, (size_t)n + 1, format, again);
        t->length += (size_t)n;
    }
    va_end(again);
    va_end(arguments);
}

static void json_character(Text *t, const char *s, size_t n, utf8proc_int32_t c) {
    if (c == '"') text_bytes(t, "\\\"", 2);
    else if (c == '\\') text_bytes(t, "\\\\", 2);
    else if (c == '\n') text_bytes(t, "\\n", 2);
    else if (c == '\t') text_bytes(t, "\\t", 2);
    else if (c < 0x20 || c == 0x7f) text_add(t, "\\u%04x", (unsigned)c);
    else text_bytes(t, s, n);
}

void text_json_string(Text *t, const char *s) {
    size_t length = strlen(s);
    text_bytes(t, "\"", 1);
    while (length) {
        utf8proc_int32_t c;
        utf8proc_ssize_t rest = length < 4 ? (utf8proc_ssize_t)length : 4;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s, rest, &c);
        if (n > 0) json_character(t, s, (size_t)n, c);
        else text_bytes(t, "\xef\xbf\xbd", 3);
        if (n <= 0) n = 1;
        s += n;
        length -= (size_t)n;
    }
    text_bytes(t, "\"", 1);
}

void text_json_number(Text *t, double value) {
    char number[32];
    if (isfinite(value)) print_double(number, value);
    text_add(t, "%s", isfinite(value) ? number : "null");
}

void text_clear(Text *t) {
    t->length = 0;
    t->failed = false;
    if (t->at) t->at[0] = 0;
}

void text_free(Text *t) {
    free(t->at);
    *t = (Text){ 0 };
}

int text_status(const Text *t, Error *e) {
    return t->failed ? error_set(e, STATUS_LIMIT, "not enough memory for a text") : STATUS_OK;
}
