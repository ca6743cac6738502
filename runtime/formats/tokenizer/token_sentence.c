/* SPDX-License-Identifier: MIT
** SentencePiece's normalizer, character by character, for text that its map and its pieces leave
** over.
*/
#include "file_tables.h"

#include <string.h>

#include "utf8.h"

/* The next characters of a text, normalized: 'length' bytes of 'to', from 'bytes' of the text. */
typedef struct Normalized {
    const char *to;
    size_t length, bytes;
} Normalized;

static Normalized next(const TokenFile *f, const char *text, size_t length) {
    int32_t ignored;
    const char *with;
    size_t n = prefix_find(&f->user, text, length, &ignored);
    if (n) return (Normalized){ text, n, n };
    n = charsmap_find(&f->charsmap, text, length, &with);
    if (n) return (Normalized){ with, strlen(with), n };
    n = (size_t)utf8_next(text, length, &ignored);
    if (!n) return (Normalized){ "\xef\xbf\xbd", 3, 1 };
    return (Normalized){ text, n, n };
}

static void add_space(Text *out, const Charsmap *x) {
    text_bytes(out, x->escape ? MARK : " ", x->escape ? MARK_BYTES : 1);
}

static bool ends_with_space(const Text *t, const Charsmap *x) {
    size_t n = x->escape ? MARK_BYTES : 1;
    return t->length >= n && !memcmp(t->at + t->length - n, x->escape ? MARK : " ", n);
}

static void sentence_add(Text *out, const Charsmap *x, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] == ' ') add_space(out, x);
        else text_bytes(out, text + i, 1);
}

static void normalize_sentence(const TokenFile *f, Text *out, const char *text, size_t length,
                               bool first) {
    const Charsmap *x = &f->charsmap;
    bool begins = length
        && (*text == ' ' || (length >= MARK_BYTES && !memcmp(text, MARK, MARK_BYTES)));
    bool prefix = x->dummy_prefix && (first || !f->prefix_once) && !(f->one_prefix && begins);
    const char *end = text + length;
    bool space = x->squeeze;
    Normalized p;
    text_clear(out);
    while (x->squeeze && text < end) {
        p = next(f, text, (size_t)(end - text));
        if (p.length != 1 || *p.to != ' ') break;
        text += p.bytes;
    }
    if (text == end) return;
    if (!x->suffix && prefix) add_space(out, x);
    for (; text < end; text += p.bytes) {
        p = next(f, text, (size_t)(end - text));
        for (; space && p.length && *p.to == ' '; p.length--)
            p.to++;
        sentence_add(out, x, p.to, p.length);
        if (p.length) space = p.to[p.length - 1] == ' ';
        space &= x->squeeze;
    }
    while (x->squeeze && !out->failed && ends_with_space(out, x))
        out->length -= x->escape ? MARK_BYTES : 1;
    if (x->suffix && prefix) add_space(out, x);
}

int token_sentence(TokenCall *c, const char *text, size_t length, bool first, Error *e) {
    normalize_sentence(c->f, &c->pieces, text, length, first);
    if (c->pieces.failed) return text_status(&c->pieces, e);
    return c->pieces.length ? token_marks(c, c->pieces.at, c->pieces.length, e) : STATUS_OK;
}
