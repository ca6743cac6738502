/* SPDX-License-Identifier: MIT
** Unicode's forms, run by run of characters beyond ASCII: utf8proc takes characters apart and joins
** them, marks are put in order here; see unicode_form.h. */
#include "unicode_form.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

enum { CLASSES = 256 }; /* of marks: canonical combining classes; 0: no mark */

static bool reserve(CodePoints *p, size_t count) {
    if (count <= p->room) return true;
    size_t room = count > 2 * p->room ? count : 2 * p->room;
    int32_t *bigger = realloc(p->at, room * sizeof *bigger);
    if (!bigger) return false;
    p->at = bigger;
    p->room = room;
    return true;
}

/* The characters of a text, taken apart; marks are in the order of the text. */
static int decompose(CodePoints *to, const char *text, size_t length, utf8proc_option_t options) {
    int boundary = 0;
    to->count = 0;
    for (size_t at = 0; at < length;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used, n = length - at < 4 ? (utf8proc_ssize_t)(length - at) : 4;
        used = utf8proc_iterate((const utf8proc_uint8_t *)text + at, n, &c);
        if (used <= 0) return STATUS_INTERNAL;
        while ((n = utf8proc_decompose_char(c, to->at + to->count,
                                            (utf8proc_ssize_t)(to->room - to->count), options,
                                            &boundary))
               > (utf8proc_ssize_t)(to->room - to->count))
            if (!reserve(to, to->count + (size_t)n)) return STATUS_LIMIT;
        if (n < 0) return STATUS_INTERNAL;
        to->count += (size_t)n;
        at += (size_t)used;
    }
    return STATUS_OK;
}

static unsigned char form_class_of(int32_t c) {
    return (unsigned char)utf8proc_get_property(c)->combining_class;
}

/* Marks by their classes; those of one class stay in their order. */
static bool sort_marks(int32_t *mark, size_t count, CodePoints *sorted) {
    size_t place[CLASSES + 1] = { 0 };
    bool ordered = true;
    for (size_t i = 1; i < count && ordered; i++)
        ordered = form_class_of(mark[i - 1]) <= form_class_of(mark[i]);
    if (ordered) return true;
    if (!reserve(sorted, count)) return false;
    for (size_t i = 0; i < count; i++)
        place[form_class_of(mark[i]) + 1]++;
    for (int i = 1; i < CLASSES; i++)
        place[i] += place[i - 1];
    for (size_t i = 0; i < count; i++)
        sorted->at[place[form_class_of(mark[i])]++] = mark[i];
    memcpy(mark, sorted->at, count * sizeof *mark);
    return true;
}

static bool sort_all(CodePoints *p, CodePoints *sorted) {
    bool done = true;
    for (size_t from = 0, to; from < p->count && done; from = to + 1) {
        for (to = from; to < p->count && form_class_of(p->at[to]);)
            to++;
        done = sort_marks(p->at + from, to - from, sorted);
    }
    return done;
}

/* The run at 'from' that no normalization reaches across: ASCII composes with what follows it. */
static size_t run_end(const char *text, size_t length, size_t from) {
    size_t at = from + 1;
    while (at < length && (text[at] & 0x80))
        at++;
    return at;
}

static int form_run(NormalizeWork *w, Text *out, const char *text, size_t length,
                    utf8proc_option_t options) {
    CodePoints *p = &w->points;
    int status = decompose(p, text, length, options);
    if (!status && (!sort_all(p, &w->sorted) || !reserve(p, p->count + 1))) status = STATUS_LIMIT;
    out->failed |= status == STATUS_LIMIT;
    if (status) return status;
    /* in place, with a NUL behind */
    utf8proc_ssize_t n = utf8proc_reencode(p->at, (utf8proc_ssize_t)p->count, options);
    if (n < 0) return STATUS_INTERNAL;
    text_bytes(out, (const char *)p->at, (size_t)n);
    return STATUS_OK;
}

/* The same text in NFC and, but for compatibility characters, in NFKC: below U+0300 nothing
** composes; in NFC itself, what does decompose composes again. */
static bool plain_run(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0xcc) return false;
    return true;
}

int unicode_form(NormalizeKind kind, NormalizeWork *w, Text *out, const char *text, size_t length) {
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
            status = form_run(w, out, text + at, end - at, UTF8PROC_STABLE | (unsigned)all[kind]);
        }
        at = end;
    }
    return status;
}
