/* SPDX-License-Identifier: MIT
** Tokenizers for programs that embed models (strata.h): those of files and of models, with one
** line of text for an error.
*/
#include "strata.h"

#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "tokenizer_file.h"

static int missing(const char *what, Error *e) {
    return error_set(e, STATUS_USER, "the %s: expected a pointer, found NULL", what);
}

static strata_tokenizer *new_tokenizer(Error *e) {
    strata_tokenizer *x = calloc(1, sizeof *x);
    if (!x) error_memory(e, "tokenizer", sizeof *x);
    return x;
}

/* *out gets what was read, or NULL. */
static int hand_over(strata_tokenizer *x, int status, strata_tokenizer **out) {
    if (status) free(x);
    *out = status ? NULL : x;
    return status;
}

int32_t strata_tokenizer_read(const char *file, strata_tokenizer **out, char *message,
                              size_t size) {
    Error e = { 0 };
    if (!file || !out) return tell(&e, missing(file ? "tokenizer" : "file", &e), message, size);
    strata_tokenizer *x = new_tokenizer(&e);
    int status = x ? tokenizer_open(&x->t, file, NULL, NULL, &e) : e.status;
    return tell(&e, hand_over(x, status, out), message, size);
}

int32_t strata_tokenizer_parse(const void *bytes, size_t length, strata_tokenizer **out,
                               char *message, size_t size) {
    Error e = { 0 };
    if (!bytes || !out) return tell(&e, missing(bytes ? "tokenizer" : "bytes", &e), message, size);
    strata_tokenizer *x = new_tokenizer(&e);
    int status = x ? tokenizer_parse(&x->t, "tokenizer", bytes, length, &e) : e.status;
    return tell(&e, hand_over(x, status, out), message, size);
}

/* Of a kind that weights keep something of, or nothing. */
static int load_kind(Tokenizer *t, const TokenizerKind *kind, const strata_model *m,
                     const char *weights, Error *e) {
    Safetensors s = { 0 };
    int status = STATUS_OK;
    if (kind->tensor && !weights) return missing("weights", e);
    if (kind->tensor) status = safetensors_open(&s, weights, e);
    if (!status) status = tokenizer_load(t, kind, m->vocab, &s, e);
    safetensors_close(&s);
    return status;
}

static int load_named(Tokenizer *t, const strata_model *m, const char *weights, Error *e) {
    const char *name = strata_string(m, m->tokenizer);
    const TokenizerKind *kind;
    if (!*name)
        return error_set(e, STATUS_USER, "the model: expected one with a tokenizer, found none");
    if (tokenizer_kind(name, &kind, NULL))
        return error_set(
            e, STATUS_USER,
            "the model: its tokenizer is the file %s, which strata_tokenizer_read reads", name);
    return load_kind(t, kind, m, weights, e);
}

int32_t strata_tokenizer_of_model(const strata_model *m, const char *weights,
                                  strata_tokenizer **out, char *message, size_t size) {
    Error e = { 0 };
    if (!m || !out) return tell(&e, missing(m ? "tokenizer" : "model", &e), message, size);
    strata_tokenizer *x = new_tokenizer(&e);
    int status = x ? load_named(&x->t, m, weights, &e) : e.status;
    if (status && x) tokenizer_free(&x->t);
    return tell(&e, hand_over(x, status, out), message, size);
}

void strata_tokenizer_free(strata_tokenizer *t) {
    if (t) tokenizer_free(&t->t);
    free(t);
}

int32_t strata_tokenizer_ids(const strata_tokenizer *t) { return t ? t->t.ids : 0; }
int32_t strata_tokenizer_end(const strata_tokenizer *t) { return t ? t->t.end : -1; }
int32_t strata_tokenizer_begin(const strata_tokenizer *t) { return t ? t->t.facts.begin : -1; }

int32_t strata_tokenizer_ends(const strata_tokenizer *t, int32_t *ids, int32_t room) {
    if (!t) return 0;
    const TextFacts *f = &t->t.facts; /* of a file; another kind has one end, or none */
    const int32_t *end = f->ends ? f->end : &t->t.end, count = f->ends ? f->ends : *end >= 0;
    for (int32_t i = 0; ids && i < room && i < count; i++)
        ids[i] = end[i];
    return count;
}

int32_t strata_tokenizer_find(const strata_tokenizer *t, const char *piece) {
    return t && piece ? tokenizer_find(&t->t, piece) : -1;
}

/* What this version has no meaning for, and sizes that no memory has. */
static int check_call(uint32_t flags, uint32_t known, const char *what, size_t count, Error *e) {
    if (flags & ~known)
        return error_set(e, STATUS_USER, "flags: expected no others than %u, found %u", known,
                         flags);
    if (count > PTRDIFF_MAX / sizeof(int32_t))
        return error_set(e, STATUS_USER, "%s: expected at most %zu, found %zu", what,
                         (size_t)PTRDIFF_MAX / sizeof(int32_t), count);
    return STATUS_OK;
}

static int check_ids(const Tokenizer *t, const int32_t *ids, size_t count, Error *e) {
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= t->ids)
            return error_set(e, STATUS_USER, "ids[%zu]: expected 0 to %d, found %d", i, t->ids - 1,
                             ids[i]);
    return STATUS_OK;
}

int32_t strata_tokenizer_encode(const strata_tokenizer *t, const char *text, size_t length,
                                uint32_t flags, strata_ids *ids, char *message, size_t size) {
    Error e = { 0 };
    TokenIds found = { .width = sizeof(int32_t),
                       .grows = true,
                       .template = flags & STRATA_TEMPLATE,
                       .plain = flags & STRATA_PLAIN };
    int status = STATUS_OK;
    if (!t || !ids) status = missing(t ? "ids" : "tokenizer", &e);
    else if ((!text && length) || (!ids->at && ids->room))
        status = missing(text ? "ids" : "text", &e);
    if (!status)
        status = check_call(flags, STRATA_TEMPLATE | STRATA_PLAIN, "the text's length", length, &e);
    if (!status) status = token_ids_encode(&found, &t->t, "text", text ? text : "", length, &e);
    if (ids) ids->count = status ? 0 : (size_t)found.count;
    size_t most = !status && ids->count < ids->room ? ids->count : status ? 0 : ids->room;
    if (most) memcpy(ids->at, found.at, most * sizeof *ids->at);
    free(found.at);
    return tell(&e, status, message, size);
}

int32_t strata_tokenizer_decode(const strata_tokenizer *t, const int32_t *ids, size_t count,
                                uint32_t flags, strata_text *text, char *message, size_t size) {
    Error e = { 0 };
    Text all = { 0 };
    int status = STATUS_OK;
    if (!t || !text) status = missing(t ? "text" : "tokenizer", &e);
    else if ((!ids && count) || (!text->at && text->room))
        status = missing(ids ? "text" : "ids", &e);
    if (!status) status = check_call(flags, STRATA_SPECIALS, "the number of ids", count, &e);
    if (!status) status = check_ids(&t->t, ids, count, &e);
    if (!status)
        status = tokenizer_decode(&t->t, ids, (int64_t)count, flags & STRATA_SPECIALS, &all, &e);
    if (text) text->length = status ? 0 : all.length;
    size_t most = !status && text->length < text->room ? text->length : status ? 0 : text->room;
    if (most) memcpy(text->at, all.at, most);
    text_free(&all);
    return tell(&e, status, message, size);
}
