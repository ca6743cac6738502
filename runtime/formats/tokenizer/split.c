/* SPDX-License-Identifier: MIT
** Pre-tokenizers, each giving its parts to the next; see split.h. */
#include "split.h"

#include <stdlib.h>
#include <string.h>

#include "characters.h"
#include "scanner.h"

/* One step of a text: where it is, what waits for the part behind it. */
typedef struct Splitting {
    const Splitter *x;
    SplitWork *w;
    int i;
    const char *text;
    size_t length, from, to; /* the part that waits; from == to: none */
    bool waiting_match, first;
    Error *e;
} Splitting;

static int split_run(const Splitter *x, SplitWork *w, int i, const char *text, size_t length,
                     bool first, Error *e);

static int split_give(Splitting *s, size_t from, size_t to) {
    if (from == to) return STATUS_OK;
    return split_run(s->x, s->w, s->i + 1, s->text + from, to - from, s->first && !from, s->e);
}

static int give_waiting(Splitting *s, size_t from, size_t to, bool match) {
    int status = split_give(s, s->from, s->to);
    s->from = from;
    s->to = to;
    s->waiting_match = match;
    return status;
}

/* The next part, in order; parts may be empty. */
static int split_part(Splitting *s, size_t from, size_t to, bool match) {
    const SplitStep *step = &s->x->step[s->i];
    match ^= step->invert;
    bool held = s->from != s->to;
    switch (step->behavior) {
    case SPLIT_REMOVED: return match ? STATUS_OK : split_give(s, from, to);
    case SPLIT_ISOLATED: return split_give(s, from, to);
    case SPLIT_CONTIGUOUS:
        if (from == to) return STATUS_OK;
        if (held && s->waiting_match == match) s->to = to;
        else return give_waiting(s, from, to, match);
        return STATUS_OK;
    case SPLIT_PREVIOUS:
        if (from == to) return STATUS_OK;
        if (held && match && !s->waiting_match) {
            s->to = to;
            s->waiting_match = true;
            return STATUS_OK;
        }
        return give_waiting(s, from, to, match);
    default: /* SPLIT_NEXT */
        if (from == to) return STATUS_OK;
        if (held && s->waiting_match && !match) {
            s->to = to;
            s->waiting_match = false;
            return STATUS_OK;
        }
        return give_waiting(s, from, to, match);
    }
}

static int parts_done(Splitting *s, size_t done) {
    int status = done < s->length ? split_part(s, done, s->length, false) : STATUS_OK;
    return status ? status : give_waiting(s, 0, 0, false);
}

/* == Where parts are ====================================================== */

static int by_pattern(Splitting *s) {
    const Pattern *p = &s->x->step[s->i].pattern;
    size_t done = 0, from, to;
    int status = STATUS_OK;
    for (size_t at = 0; at < s->length && !status; at = to) {
        int found = pattern_next(p, s->text, s->length, at, &from, &to, &s->w->memory[s->i]);
        if (found < 0) return pattern_failed(p, found, s->w->place, s->text + at, s->e);
        if (!found) break;
        if (to == from) { /* nothing, and on behind the character there */
            for (to++; to < s->length && (s->text[to] & 0xc0) == 0x80;)
                to++;
            continue;
        }
        if (done < from) status = split_part(s, done, from, false);
        if (!status) status = split_part(s, from, to, true);
        done = to;
    }
    return status ? status : parts_done(s, done);
}

static int by_scanner(Splitting *s) {
    int scanner = s->x->step[s->i].scanner, status = STATUS_OK;
    for (size_t at = 0, to; at < s->length && !status; at = to) {
        to = scanner_next(scanner, s->text, s->length, at);
        status = split_part(s, at, to, true);
    }
    return status ? status : parts_done(s, s->length);
}

static int split_by_text(Splitting *s, const char *find) {
    size_t n = strlen(find), done = 0;
    int status = STATUS_OK;
    const char *found;
    while (n && !status && (found = memmem(s->text + done, s->length - done, find, n))) {
        size_t from = (size_t)(found - s->text);
        if (done < from) status = split_part(s, done, from, false);
        if (!status) status = split_part(s, from, from + n, true);
        done = from + n;
    }
    return status ? status : parts_done(s, done);
}

static int by_character(Splitting *s, bool (*matches)(int32_t)) {
    size_t done = 0;
    int status = STATUS_OK;
    for (size_t at = 0; at < s->length && !status;) {
        int32_t c;
        size_t to = at + (size_t)character_at(s->text, s->length, at, &c);
        if (matches(c)) {
            if (done < at) status = split_part(s, done, at, false);
            if (!status) status = split_part(s, at, to, true);
            done = to;
        }
        at = to;
    }
    return status ? status : parts_done(s, done);
}

static int class_at(const Splitting *s, size_t at, size_t *to) {
    int32_t c;
    *to = at + (size_t)character_at(s->text, s->length, at, &c);
    return character_word(c) ? 2 : character_space(c) ? 0 : 1;
}

/* \w+|[^\w\s]+ */
static int by_words(Splitting *s) {
    int status = STATUS_OK;
    for (size_t at = 0, to, next; at < s->length && !status; at = to) {
        int class = class_at(s, at, &to);
        while (to < s->length && class_at(s, to, &next) == class)
            to = next;
        status = split_part(s, at, to, class != 0);
    }
    return status ? status : parts_done(s, s->length);
}

/* == Other texts ========================================================== */

static int metaspace(Splitting *s) {
    const SplitStep *step = &s->x->step[s->i];
    Text *out = &s->w->text[s->i];
    size_t mark = strlen(step->text);
    bool has = s->length >= mark && !memcmp(s->text, step->text, mark);
    text_clear(out);
    if (!has && *s->text != ' '
        && (step->prepend == SPLIT_ALWAYS || (step->prepend == SPLIT_FIRST && s->first)))
        text_bytes(out, step->text, mark);
    for (size_t i = 0, from; i < s->length;) {
        for (from = i; i < s->length && s->text[i] != ' ';)
            i++;
        text_bytes(out, s->text + from, i - from);
        for (; i < s->length && s->text[i] == ' '; i++)
            text_bytes(out, step->text, mark);
    }
    if (out->failed) return text_status(out, s->e);
    s->text = out->at;
    s->length = out->length;
    return step->splits ? split_by_text(s, step->text) : split_give(s, 0, s->length);
}

static int space_first(Splitting *s) {
    Text *out = &s->w->text[s->i];
    if (*s->text == ' ') return split_give(s, 0, s->length);
    text_clear(out);
    text_bytes(out, " ", 1);
    text_bytes(out, s->text, s->length);
    if (out->failed) return text_status(out, s->e);
    s->text = out->at;
    return split_give(s, 0, out->length);
}

static int split_run(const Splitter *x, SplitWork *w, int i, const char *text, size_t length,
                     bool first, Error *e) {
    if (i == x->count) return w->word(w->user, text, length, e);
    Splitting s = {
        .x = x, .w = w, .i = i, .text = text, .length = length, .first = first, .e = e
    };
    switch (x->step[i].kind) {
    case SPLIT_PATTERN: return by_pattern(&s);
    case SPLIT_TEXT: return split_by_text(&s, x->step[i].text);
    case SPLIT_NUMBERS: return by_character(&s, character_number);
    case SPLIT_SPACES: return by_character(&s, character_space);
    case SPLIT_PUNCTUATION: return by_character(&s, character_punctuation);
    case SPLIT_WORDS: return by_words(&s);
    case SPLIT_SCANNED: return by_scanner(&s);
    case SPLIT_METASPACE: return metaspace(&s);
    default: return space_first(&s);
    }
}

int split(const Splitter *x, SplitWork *w, const char *text, size_t length, bool first, Error *e) {
    return length ? split_run(x, w, 0, text, length, first, e) : STATUS_OK;
}

void split_done(SplitWork *w) {
    for (int i = 0; i < SPLIT_STEPS; i++) {
        text_free(&w->text[i]);
        pattern_done(w->memory[i]);
    }
}

void splitter_free(Splitter *x) {
    for (int i = 0; i < x->count; i++) {
        free(x->step[i].text);
        pattern_free(&x->step[i].pattern);
    }
}
