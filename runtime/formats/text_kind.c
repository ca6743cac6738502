/* SPDX-License-Identifier: MIT
** See text_kind.h. */
#include "text_kind.h"

#include <string.h>

#include "utf8.h"

typedef struct TextKind {
    size_t at, length;
    const char *bytes;
    bool alone;
    const char *name, *cure;
} TextKind;

static const TextKind text_kind_kinds[] = {
#define KIND(at, bytes, alone, name, cure) { at, sizeof bytes - 1, bytes, alone, name, cure },
#include "text_kinds.def"
};

static bool is_control(unsigned char c) { return c < ' ' && (c < '\b' || c > '\r') && c != 27; }

/* Where the first byte lies that no text in UTF-8 has; n: nowhere.  The last character may be cut
** off. */
static size_t odd_byte(const unsigned char *head, size_t n) {
    for (size_t i = 0; i < n;) {
        int32_t point;
        int m = utf8_next((const char *)head + i, n - i, &point);
        if (is_control(head[i])) return i;
        if (!m) return n - i < 4 && !utf8_begins(head + i, (int)(n - i)) ? n : i;
        i += (size_t)m;
    }
    return n;
}

static const TextKind *text_kind_find(const unsigned char *head, size_t n) {
    bool text = odd_byte(head, n) == n;
    for (size_t i = 0; i < sizeof text_kind_kinds / sizeof *text_kind_kinds; i++) {
        const TextKind *k = &text_kind_kinds[i];
        if (n < k->at + k->length || memcmp(head + k->at, k->bytes, k->length)) continue;
        if (k->alone || !text) return k;
    }
    return NULL;
}

int text_kind_check(const char *path, const unsigned char *head, size_t n, bool packed, Error *e) {
    const TextKind *kind = text_kind_find(head, n);
    if (kind)
        return error_set(e, STATUS_USER, "%s: expected text, found %s%s%s%s", path, kind->name,
                         packed ? " in compressed data" : "", kind->cure ? "; " : "",
                         kind->cure ? kind->cure : "");
    const unsigned char *nul = memchr(head, 0, n);
    if (nul)
        return error_set(e, STATUS_USER,
                         "%s:byte %zu%s: expected text, found a NUL byte, which no text has", path,
                         (size_t)(nul - head), packed ? " of the expanded text" : "");
    return STATUS_OK;
}
