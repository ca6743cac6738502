/* SPDX-License-Identifier: MIT
** Characters that stand for bytes; see stray.h.  They are 256 consecutive private-use characters
** of planes 15 and 16: not letters, digits or spaces, and no normalizer changes them.
*/
#include "stray.h"

#include <utf8proc.h>

#include "characters.h"
#include "utf8.h"

enum { FIRST = 0xf0000, LAST = 0x10ffff, BLOCK = 256, BLOCKS = (LAST + 1 - FIRST) / BLOCK };

int64_t stray_count(const char *text, size_t length) {
    int64_t count = 0;
    for (size_t at = characters_valid(text, length, 0); at < length;
         at = characters_valid(text, length, at + 1))
        count++;
    return count;
}

/* The first character of 256 that are not in the text; 0: none.  The last block has characters
** that Unicode says are none. */
static int32_t free_block(const char *text, size_t length) {
    bool used[BLOCKS] = { false };
    int32_t c;
    for (size_t at = 0; at < length; at += (size_t)character_at(text, length, at, &c))
        if ((unsigned char)text[at] >= 0xf3 && utf8_next(text + at, length - at, &c) && c >= FIRST)
            used[(c - FIRST) / BLOCK] = true;
    for (int i = BLOCKS - 2; i >= 0; i--)
        if (!used[i]) return FIRST + i * BLOCK;
    return 0;
}

int32_t stray_hide(Text *out, const char *text, size_t length) {
    utf8proc_uint8_t spelled[4];
    int32_t first = free_block(text, length);
    for (size_t from = 0, at; first && from < length; from = at + 1) {
        at = characters_valid(text, length, from);
        text_bytes(out, text + from, at - from);
        if (at == length) break;
        utf8proc_ssize_t n = utf8proc_encode_char(first + (unsigned char)text[at], spelled);
        text_bytes(out, (const char *)spelled, (size_t)n);
    }
    return first;
}

/* Where the next character from 'first' on is; its byte. */
static size_t stray_find(int32_t first, const char *text, size_t length, size_t at, int *byte) {
    for (int32_t c; at < length; at++) {
        if ((unsigned char)text[at] < 0xf3) continue;
        if (!utf8_next(text + at, length - at, &c) || c < first || c >= first + BLOCK) continue;
        *byte = c - first;
        return at;
    }
    return length;
}

bool stray_show(Text *out, int32_t first, const char *text, size_t length) {
    int byte = 0;
    size_t from = 0, at = stray_find(first, text, length, 0, &byte);
    if (at == length) return false;
    while (at < length) {
        char one = (char)byte;
        text_bytes(out, text + from, at - from);
        text_bytes(out, &one, 1);
        from = at + 4;
        at = stray_find(first, text, length, from, &byte);
    }
    text_bytes(out, text + from, length - from);
    return true;
}
