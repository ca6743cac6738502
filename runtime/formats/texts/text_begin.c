/* SPDX-License-Identifier: MIT
** The tokens in front of a text and behind it, as a file and a command say; see tokenizer.h. */
#include <stdlib.h>

#include "file_tables.h"
#include "text_facts.h"

bool tokenizer_begins_texts(const Tokenizer *t) {
    const TokenFile *f = t->kind == &tokenizer_in_file ? t->tables : NULL;
    return f && f->before_count;
}

bool tokenizer_ends_texts(const Tokenizer *t) {
    const TokenFile *f = t->kind == &tokenizer_in_file ? t->tables : NULL;
    return f && f->after_count;
}

bool tokenizer_spells_begin(const Tokenizer *t, const char *text, size_t length) {
    const TokenFile *f = t->kind == &tokenizer_in_file ? t->tables : NULL;
    int32_t i;
    size_t n = 0;
    if (!f || t->facts.begin < 0) return false;
    n = prefix_find(&f->raw.tree, text, length, &i);
    if (n) return f->raw.token[i].id == t->facts.begin;
    n = prefix_find(&f->normalized.tree, text, length, &i);
    return n && f->normalized.token[i].id == t->facts.begin;
}

int tokenizer_put_begin(Tokenizer *t, BeginChoice choice, const char *option, Error *e) {
    TokenFile *f = t->kind == &tokenizer_in_file ? t->tables : NULL;
    if (choice == BEGIN_NO && f) f->before_count = 0;
    if (choice != BEGIN_YES || (f && f->before_count)) return STATUS_OK;
    if (!f || t->facts.begin < 0)
        return error_set(e, STATUS_USER,
                         "%s yes: expected a tokenizer with a token that begins texts, found %s",
                         option,
                         f ? "none in its file"
                             : t->kind ? t->kind->name
                                       : "none");
    int32_t *bigger = realloc(f->before, sizeof *bigger);
    if (!bigger) return error_memory(e, option, sizeof *bigger);
    f->before = bigger;
    f->before[f->before_count++] = t->facts.begin;
    return STATUS_OK;
}

int tokenizer_begin_used(BeginChoice choice, const char *option, bool text, Error *e) {
    if (choice == BEGIN_AUTO || text) return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "%s %s: expected texts, in front of which the begin token is put or not, "
                     "found only token files, whose tokens are made already",
                     option, choice == BEGIN_YES ? "yes" : "no");
}
