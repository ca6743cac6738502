/* SPDX-License-Identifier: MIT
** See chat_template.h. */
#include "chat_template.h"

#include <stdlib.h>
#include <string.h>

static const ChatTemplate templates[] = {
#define TEMPLATE(name, needs, or, unlike, strict, begin, system, user, end, end_byte, after) \
    { #name, { needs, or }, unlike, strict, begin, system, user, end, end_byte, after },
#include "chat_templates.def"
};
enum { TEMPLATES = sizeof templates / sizeof *templates };

/* The first token that the tokenizer lacks, or NULL. */
static const char *lacks(const ChatTemplate *x, const Tokenizer *t) {
    for (int i = 0; i < 2; i++)
        if (*x->needs[i] && tokenizer_find(t, x->needs[i]) < 0) return x->needs[i];
    return NULL;
}

static int unknown(const char *name, Error *e) {
    Text names = { 0 };
    for (int i = 0; i < TEMPLATES; i++)
        text_add(&names, i ? ", %s" : "%s", templates[i].name);
    int status = text_status(&names, e);
    if (!status)
        status = error_set(e, STATUS_USAGE, "chat: --template: expected one of %s, found '%s'",
                           names.at, name);
    text_free(&names);
    return status;
}

/* == What a checkpoint's template writes ================================== */

/* Has the text one of the words between bars? */
static bool has_word(const char *text, const char *words) {
    for (size_t n; *words; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        /* bars are in words too: "<|im_sep|>" ends behind its bracket */
        while (words[n] && *words == '<' && words[n - 1] != '>')
            n += 1 + strcspn(words + n + 1, "|");
        if (memmem(text, strlen(text), words, n)) return true;
    }
    return false;
}

const ChatTemplate *chat_template_family(const char *template) {
    for (const ChatTemplate *x = templates; x < templates + TEMPLATES; x++) {
        if (!*x->needs[0] || has_word(template, x->unlike)) continue;
        if (strstr(template, x->needs[0]) && strstr(template, x->needs[1])) return x;
    }
    return NULL;
}

const char *chat_template_name(const char *template) {
    const ChatTemplate *x = chat_template_family(template);
    return x ? x->name : "none of the forms that chat knows";
}

bool chat_template_inner_system(const ChatTemplate *x) {
    return !strncmp(x->system, "%s", 2) && *x->needs[0];
}

/* The text of a string of the template up to 'end': escapes are what they stand for. */
static bool literal(Text *out, const char *at, const char *end) {
    for (; at < end; at++) {
        char c = *at;
        if (c == '\'' || c == '"' || c == '{' || c == '}') return false; /* no plain text */
        if (c == '\\' && at + 1 < end) {
            c = *++at;
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        text_bytes(out, &c, 1);
    }
    return true;
}

bool chat_template_default(const ChatTemplate *x, const char *template, Text *out) {
    const char *place = strstr(x->system, "%s");
    if (!place || place == x->system) return false;
    size_t n = (size_t)(place - x->system);
    while (n && x->system[n - 1] == '\n')
        n--;
    size_t stop = strcspn(place + 2, "\n");
    for (const char *at = template; (at = memmem(at, strlen(at), x->system, n));) {
        at += n;
        const char *from = at;
        for (bool again = true; again;) {
            again = !strncmp(from, "\\n", 2) || *from == '\n';
            from += again ? *from == '\n' ? 1 : 2 : 0;
        }
        const char *end = memmem(from, strlen(from), place + 2, stop);
        text_clear(out);
        if (from > at && end && end > from && literal(out, from, end)) return true;
    }
    text_clear(out);
    return false;
}

void chat_template_tokens(const Tokenizer *t, const char *template, Text *out) {
    enum { SHOWN = 3, LONGEST = 40 };
    int shown = 0;
    for (const char *at = template; *at && shown < SHOWN; at++) {
        char piece[LONGEST + 1];
        size_t n = strcspn(at, *at == '[' ? "]" : ">") + 1;
        if ((*at != '<' && *at != '[') || n > LONGEST || n > strlen(at)) continue;
        print_text(piece, sizeof piece, "%.*s", (int)n, at);
        if (tokenizer_find(t, piece) < 0) continue;
        if (out->at && strstr(out->at, piece)) continue;
        text_add(out, "%s'%s'", shown++ ? ", " : "", piece);
    }
}

/* == By name ============================================================== */

int chat_template_find(const char *name, const Tokenizer *t, const ChatTemplate **found, Error *e) {
    const ChatTemplate *x = templates,
                       *own = !name && t->facts.template ? chat_template_family(t->facts.template)
                                                         : NULL;
    if (own && !lacks(own, t)) {
        *found = own;
        return STATUS_OK;
    }
    for (; x < templates + TEMPLATES; x++)
        if (name ? !strcmp(name, x->name) : !lacks(x, t)) break;
    if (x == templates + TEMPLATES) return unknown(name, e);
    *found = x;
    if (!x->strict || !lacks(x, t)) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "chat: --template: expected a tokenizer with the token '%s', which %s is "
                     "written with, found none",
                     lacks(x, t), x->name);
}

static int template_encode(const Tokenizer *t, const char *text, size_t length, TokenIds *ids,
                           Error *e) {
    return length ? token_ids_encode(ids, t, "message", text, length, e) : STATUS_OK;
}

/* Whether the message is other ids when special tokens count as text. */
static int spells_special(const Tokenizer *t, const char *message, size_t length, bool *spells,
                          Error *e) {
    TokenIds with = { .width = 4, .grows = true }, without = with;
    without.plain = true;
    int status = template_encode(t, message, length, &with, e);
    if (!status) status = template_encode(t, message, length, &without, e);
    *spells = !status
        && (with.count != without.count
            || (with.count && memcmp(with.at, without.at, (size_t)with.count * 4) != 0));
    free(with.at);
    free(without.at);
    return status;
}

/* The parts one by one, the message as text. */
static int write_apart(const Tokenizer *t, const char *form, const char *place, const char *message,
                       size_t length, TokenIds *ids, Error *e) {
    int status = template_encode(t, form, (size_t)(place - form), ids, e);
    bool plain = ids->plain, template = ids->template;
    ids->plain = true, ids->template = template && !ids->count;
    if (!status) status = template_encode(t, message, length, ids, e);
    ids->plain = plain, ids->template = false;
    if (!status) status = template_encode(t, place + 2, strlen(place + 2), ids, e);
    ids->template = template;
    return status;
}

int chat_template_write(const Tokenizer *t, const char *form, const char *message, size_t length,
                        TokenIds *ids, Error *e) {
    const char *place = strstr(form, "%s");
    bool spells = false;
    if (!place) return template_encode(t, form, strlen(form), ids, e);
    int status = spells_special(t, message, length, &spells, e);
    if (status || spells)
        return status ? status : write_apart(t, form, place, message, length, ids, e);
    Text all = { 0 };
    text_bytes(&all, form, (size_t)(place - form));
    text_bytes(&all, message, length);
    text_bytes(&all, place + 2, strlen(place + 2));
    status = text_status(&all, e);
    if (!status) status = template_encode(t, all.at, all.length, ids, e);
    text_free(&all);
    return status;
}
