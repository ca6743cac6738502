/* SPDX-License-Identifier: MIT
** Normalizers; Unicode's forms by utf8proc, run by run of characters beyond ASCII. */
#include "normalize.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "characters.h"

/* == Unicode's forms ====================================================== */

/* The run at 'from' that no normalization reaches across: ASCII composes with what follows it. */
static size_t run_end(const char *text, size_t length, size_t from) {
    size_t at = from + 1;
    while (at < length && (text[at] & 0x80))
        at++;
    return at;
}

static int form_run(Text *out, const char *text, size_t length, utf8proc_option_t options) {
    utf8proc_uint8_t *made;
    utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length,
                                      &made, options);
    if (n == UTF8PROC_ERROR_NOMEM) out->failed = true;
    if (n < 0) return out->failed ? STATUS_LIMIT : STATUS_INTERNAL;
    text_bytes(out, (char *)made, (size_t)n);
    free(made);
    return STATUS_OK;
}

/* The same text in NFC and, but for compatibility characters, in NFKC: below U+0300 nothing
** composes; in NFC itself, what does decompose composes again. */
static bool plain_run(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0xcc) return false;
    return true;
}

static int form(NormalizeKind kind, Text *out, const char *text, size_t length) {
    static const int all[] = { [NORMALIZE_NFC] = UTF8PROC_COMPOSE,
                               [NORMALIZE_NFD] = UTF8PROC_DECOMPOSE,
                               [NORMALIZE_NFKC] = UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                               [NORMALIZE_NFKD] = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT };
    int status = STATUS_OK;
    for (size_t at = 0; at < length && !status;) {
        size_t end = run_end(text, length, at);
        if (end == at + 1 && !(text[at] & 0x80)) {
            while (end + 1 < length && !((text[end] | text[end + 1]) & 0x80))
                end++;
            text_bytes(out, text + at, end - at);
        } else if (kind == NORMALIZE_NFC && plain_run(text + at, end - at)) {
            text_bytes(out, text + at, end - at);
        } else {
            status = form_run(out, text + at, end - at, UTF8PROC_STABLE | (unsigned)all[kind]);
        }
        at = end;
    }
    return status;
}

/* == Others =============================================================== */

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
static void replace(const NormalizeStep *s, size_t most, Text *out, const char *text,
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
        w->at = at;
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
        replace(s, most, out, text, length);
        return 0;
    case NORMALIZE_STRIP: strip(s, out, text, length); return 0;
    default: return form(s->kind, out, text, length) ? PATTERN_MEMORY : 0;
    }
}

int normalize(const Normalizer *x, NormalizeWork *w, const char *what, const char **text,
              size_t *length, Error *e) {
    size_t most = 100 * *length + 65536;
    for (int i = 0; i < x->count; i++) {
        Text *out = &w->text[i & 1];
        text_clear(out);
        text_bytes(out, "", 0);
        int failed = take_step(&x->step[i], w, most, out, *text, *length);
        if (failed) return pattern_failed(&x->step[i].pattern, failed, what, w->at, *length, e);
        if (out->failed) return text_status(out, e);
        if (out->length > most)
            return error_set(e, STATUS_LIMIT,
                             "%s: expected normalization to at most %zu bytes, found more", what,
                             most);
        *text = out->at;
        *length = out->length;
    }
    return STATUS_OK;
}

void normalize_done(NormalizeWork *w) {
    text_free(&w->text[0]);
    text_free(&w->text[1]);
    pattern_done(w->memory);
}

void normalizer_free(Normalizer *x) {
    for (int i = 0; i < x->count; i++) {
        free(x->step[i].from);
        free(x->step[i].with);
        pattern_free(&x->step[i].pattern);
    }
}
