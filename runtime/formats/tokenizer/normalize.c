/* SPDX-License-Identifier: MIT
** Normalizers; Unicode's forms are unicode_form.c's. */
#include "normalize.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "characters.h"
#include "precompiled.h"
#include "unicode_form.h"

static void lower(Text *out, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        int32_t c;
        utf8proc_uint8_t to[4];
        at += (size_t)character_at(text, length, at, &c);
        if (c == 0x130) { /* the one that becomes two */
            text_bytes(out, "i\xcc\x87", 3);
            continue;
        }
        utf8proc_ssize_t n = utf8proc_encode_char(utf8proc_tolower(c), to);
        text_bytes(out, (char *)to, (size_t)n);
    }
}

/* No further than 'most' bytes, of which there are more then. */
static void normalize_replace(const NormalizeStep *s, size_t most, Text *out, const char *text,
                              size_t length) {
    size_t n = strlen(s->from), with = strlen(s->with);
    const char *end = text + length, *found;
    while (n && out->length <= most && (found = memmem(text, (size_t)(end - text), s->from, n))) {
        text_bytes(out, text, (size_t)(found - text));
        text_bytes(out, s->with, with);
        text = found + n;
    }
    text_bytes(out, text, (size_t)(end - text));
}

static int replace_matches(const NormalizeStep *s, size_t most, Text *out, const char *text,
                           size_t length, NormalizeWork *w) {
    size_t done = 0, from, to;
    int found = 1;
    for (size_t at = 0; at <= length && out->length <= most; at = to + (to == from)) {
        w->at = text + at;
        found = pattern_next(&s->pattern, text, length, at, &from, &to, &w->memory);
        if (found <= 0) break;
        if (to == from) { /* not inside of a character */
            while (to + 1 < length && (text[to + 1] & 0xc0) == 0x80)
                from = ++to;
            continue;
        }
        text_bytes(out, text + done, from - done);
        text_bytes(out, s->with, strlen(s->with));
        done = to;
    }
    text_bytes(out, text + done, length - done);
    return found < 0 ? found : 0;
}

static void strip(const NormalizeStep *s, Text *out, const char *text, size_t length) {
    size_t from = s->left ? characters_after_space(text, length, 0) : 0,
           to = s->right ? characters_before_space(text, length) : length;
    if (to > from) text_bytes(out, text + from, to - from);
}

static int take_step(const NormalizeStep *s, NormalizeWork *w, size_t most, Text *out,
                     const char *text, size_t length) {
    switch (s->kind) {
    case NORMALIZE_LOWERCASE: lower(out, text, length); return 0;
    case NORMALIZE_PREPEND:
        if (length) text_bytes(out, s->with, strlen(s->with));
        text_bytes(out, text, length);
        return 0;
    case NORMALIZE_REPLACE:
        if (s->pattern.code) return replace_matches(s, most, out, text, length, w);
        normalize_replace(s, most, out, text, length);
        return 0;
    case NORMALIZE_STRIP: strip(s, out, text, length); return 0;
    case NORMALIZE_PRECOMPILED: precompiled(&s->map, out, text, length); return 0;
    default: return unicode_form(s->kind, w, out, text, length) ? PATTERN_MEMORY : 0;
    }
}

int normalize(const Normalizer *x, NormalizeWork *w, const PatternPlace *place, const char **text,
              size_t *length, Error *e) {
    size_t most = 100 * *length + 65536;
    for (int i = 0; i < x->count; i++) {
        Text *out = &w->text[i & 1];
        w->at = *text;
        text_clear(out);
        text_bytes(out, "", 0);
        int failed = take_step(&x->step[i], w, most, out, *text, *length);
        if (failed) return pattern_failed(&x->step[i].pattern, failed, place, w->at, e);
        if (out->failed) return text_status(out, e);
        if (out->length > most)
            return error_set(e, STATUS_LIMIT,
                             "%s: expected normalization to at most %zu bytes, found more",
                             place->what, most);
        *text = out->at;
        *length = out->length;
    }
    return STATUS_OK;
}

void normalize_done(NormalizeWork *w) {
    text_free(&w->text[0]);
    text_free(&w->text[1]);
    free(w->points.at);
    free(w->sorted.at);
    pattern_done(w->memory);
}

void normalizer_free(Normalizer *x) {
    for (int i = 0; i < x->count; i++) {
        free(x->step[i].from);
        free(x->step[i].with);
        pattern_free(&x->step[i].pattern);
        charsmap_free(&x->step[i].map);
    }
}
