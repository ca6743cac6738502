/* SPDX-License-Identifier: MIT
** SentencePiece's normalization; see charsmap.h. */
#include "charsmap.h"

#include <stdlib.h>
#include <string.h>

enum { FOUND = 32 }; /* texts that begin each other and are looked at, as the library does */

static uint32_t word_at(const char *bytes) {
    const unsigned char *b = (const unsigned char *)bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

int charsmap_read(Charsmap *x, const char *bytes, size_t length, const char *what, Error *e) {
    if (!length) return STATUS_OK;
    size_t long_one = 0, tree = length < 4 ? length : word_at(bytes);
    if (length < 5 || tree > length - 5 || tree % 4 || !tree || bytes[length - 1])
        return error_set(e, STATUS_USER,
                         "%s:normalizer: expected a precompiled map of characters, found %zu bytes "
                         "that are none",
                         what, length);
    x->units = tree / 4;
    x->length = length - 4 - tree;
    x->unit = malloc(tree);
    x->text = malloc(x->length);
    if (!x->unit || !x->text) return error_memory(e, what, length);
    for (size_t i = 0; i < x->units; i++)
        x->unit[i] = word_at(bytes + 4 + 4 * i);
    memcpy(x->text, bytes + 4 + tree, x->length);
    for (size_t i = 0, n = 0; i < x->length; i++, n = i && !x->text[i - 1] ? 0 : n + 1)
        if (n > CHARSMAP_LONGEST) long_one = n;
    if (long_one)
        return error_set(e, STATUS_LIMIT,
                         "%s:normalizer: expected replacements of at most %d bytes, found more",
                         what, CHARSMAP_LONGEST);
    return STATUS_OK;
}

void charsmap_free(Charsmap *x) {
    free(x->unit);
    free(x->text);
    *x = (Charsmap){ 0 };
}

static size_t offset(uint32_t unit) { return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6); }

/* The longest of the first 'most' that begin each other. */
static size_t find_charsmap(const Charsmap *x, const char *text, size_t length, int most,
                            const char **with) {
    size_t found = 0, node = x->unit ? offset(x->unit[0]) : 0;
    int count = 0;
    for (size_t i = 0; x->unit && i < length && count < most; i++) {
        unsigned char c = (unsigned char)text[i];
        node ^= c;
        if (node >= x->units || (x->unit[node] & 0x800000ffu) != c) break;
        uint32_t unit = x->unit[node];
        node ^= offset(unit);
        if (node >= x->units) break;
        if (!(unit >> 8 & 1)) continue;
        size_t value = x->unit[node] & 0x7fffffffu;
        if (value >= x->length) break;
        count++;
        found = i + 1;
        *with = x->text + value;
    }
    return found;
}

size_t charsmap_find(const Charsmap *x, const char *text, size_t length, const char **with) {
    return find_charsmap(x, text, length, FOUND, with);
}

size_t charsmap_first(const Charsmap *x, const char *text, size_t length, const char **with) {
    return find_charsmap(x, text, length, 1, with);
}
