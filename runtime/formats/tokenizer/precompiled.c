/* SPDX-License-Identifier: MIT
** See precompiled.h.  At each position, the shortest text in the map that begins there is used.
** Its replacement takes the place of the whole character, marks included, if the character is
** short.
*/
#include "precompiled.h"

#include <string.h>

#include <utf8proc.h>

#include "characters.h"

enum { SHORT = 5 }; /* bytes of a character that is looked up with its marks */

/* Where the character with its marks ends that begins at 'at'. */
static size_t cluster_end(const char *text, size_t length, size_t at) {
    int32_t state = 0, before, c;
    at += (size_t)character_at(text, length, at, &before);
    while (at < length) {
        int n = character_at(text, length, at, &c);
        if (utf8proc_grapheme_break_stateful(before, c, &state)) break;
        at += (size_t)n;
        before = c;
    }
    return at;
}

static void precompiled_add(const Charsmap *x, Text *out, const char *text, size_t length) {
    const char *with;
    if (charsmap_first(x, text, length, &with)) text_bytes(out, with, strlen(with));
    else text_bytes(out, text, length);
}

void precompiled(const Charsmap *x, Text *out, const char *text, size_t length) {
    const char *with;
    for (size_t at = 0, end; at < length; at = end) {
        end = cluster_end(text, length, at);
        if (end - at <= SHORT && charsmap_first(x, text + at, end - at, &with)) {
            text_bytes(out, with, strlen(with));
            continue;
        }
        for (int32_t c; at < end;) {
            size_t n = (size_t)character_at(text, length, at, &c);
            precompiled_add(x, out, text + at, n);
            at += n;
        }
    }
}
