/* SPDX-License-Identifier: MIT
** UTF-8, one sequence at a time: utf8proc's reading, and what its table says of a beginning. */
#include "utf8.h"

#include <utf8proc.h>

int utf8_next(const char *s, size_t n, int32_t *point) {
    if (!n) return 0;
    utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)s,
                                             n < 4 ? (utf8proc_ssize_t)n : 4, point);
    return used > 0 ? (int)used : 0;
}

/* The table of Unicode 3.9, D92. */
int utf8_begins(const unsigned char *s, int n) {
    int lead = s[0], need = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    int low = lead == 0xe0 ? 0xa0
        : lead == 0xf0     ? 0x90
                           : 0x80,
        high = lead == 0xed ? 0x9f
        : lead == 0xf4      ? 0x8f
                            : 0xbf;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4) return -1;
    for (int i = 1; i < n; i++) {
        if (s[i] < low || s[i] > high) return -1;
        low = 0x80;
        high = 0xbf;
    }
    return n < need ? 0 : need;
}

int utf8_bad(const char *what, const char *text, size_t at, Error *e) {
    return error_set(e, STATUS_USER, "%s:byte %zu: expected UTF-8, found byte 0x%02x", what, at,
                     (unsigned char)text[at]);
}
