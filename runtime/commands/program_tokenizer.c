/* SPDX-License-Identifier: MIT
** See program_tokenizer.h. */
#include "program_tokenizer.h"

#include <stdlib.h>

#include "tokenizer_file.h"
#include "tokenizer_identity.h"

/* What strata build links to the program of a spec that names a tokenizer's file; others have
** none. */
typedef struct LinkedFile {
    char sha256[72];
    uint64_t size;
    char bytes[];
} LinkedFile;
extern const LinkedFile strata_tokenizer_file __attribute__((weak));

const char *program_tokenizer_hash(void) {
    return &strata_tokenizer_file ? strata_tokenizer_file.sha256 : NULL;
}

static int open_given(Tokenizer *t, const char *path, Error *e) {
    char *bytes = NULL;
    size_t length;
    int status = tokenizer_open(t, path, &bytes, &length, e);
    if (status) return status;
    tokenizer_identify(t, path, bytes, length);
    free(bytes);
    return STATUS_OK;
}

static int open_linked(Tokenizer *t, const char *name, Error *e) {
    const LinkedFile *f = &strata_tokenizer_file;
    int status = tokenizer_parse(t, name, f->bytes, f->size, e);
    if (!status) tokenizer_called(t, name, f->sha256);
    return status;
}

int program_tokenizer_begins(const Program *p, Tokenizer *t, Error *e) {
    return tokenizer_put_begin(t, (BeginChoice)option(p, OPTION_BOS)->choice, "--bos", e);
}

static int tokenizer_open_file(const Program *p, Tokenizer *t, Error *e) {
    const char *given = option(p, OPTION_TOKENIZER)->text;
    int status = STATUS_OK;
    if (given) status = open_given(t, given, e);
    else if (&strata_tokenizer_file) status = open_linked(t, model_text(p, p->m->tokenizer), e);
    if (!status && t->kind) status = program_tokenizer_begins(p, t, e);
    if (status || t->ids <= p->m->vocab) return status;
    return error_set(e, STATUS_USER,
                     "%s: expected a tokenizer of at most %d ids, the model's vocabulary, found %d",
                     t->name, p->m->vocab, t->ids);
}

int program_tokenizer_open(const Program *p, const Safetensors *weights, Tokenizer *t, Error *e) {
    *t = (Tokenizer){ 0 };
    int status = tokenizer_open_file(p, t, e);
    if (!status && weights && !option(p, OPTION_TOKENIZER)->given)
        status = tokenizer_expect(weights, t, e);
    if (status) tokenizer_free(t);
    return status;
}

int program_tokenizer_load(const Program *p, const Safetensors *weights, Tokenizer *t, Error *e) {
    const char *name = model_text(p, p->m->tokenizer);
    const TokenizerKind *kind;
    int status = program_tokenizer_open(p, weights, t, e);
    if (status || t->kind || !*name) return status;
    status = tokenizer_kind(name, &kind, e);
    if (!status) status = tokenizer_load(t, kind, p->m->vocab, weights, e);
    return status ? status : program_tokenizer_begins(p, t, e);
}

char *program_tokenizer_twice(char to[TWICE_WORDS], const Tokenizer *t, const char *what,
                              const char *text, size_t length) {
    to[0] = 0;
    if (!tokenizer_begins_texts(t) || !tokenizer_spells_begin(t, text, length)) return to;
    return data_twice_words(to, what);
}
