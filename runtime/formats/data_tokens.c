/* SPDX-License-Identifier: MIT
** From files to tokens.  Ids of texts go to one store, in memory while they are few.  Token files,
** and texts whose bytes are their ids, are read in place if they are larger than that.
*/
#include "data.h"

#include <stdlib.h>
#include <string.h>

#include "documents.h"
#include "tokenizer_identity.h"

typedef struct TokenMaker {
    Data *d;
    const DataFiles *f;
    const Tokenizer *t;
    DataSource *source; /* that is added to */
    TokenIds ids;       /* of a piece */
    bool measured;      /* the source's bytes are known so far */
    int64_t first;      /* bytes that its first token stands for */
} TokenMaker;

static int32_t tokens_end_of(const TokenMaker *x) { return x->t->kind ? x->t->end : -1; }

/* == Segments ============================================================= */

/* 'count' tokens of a store from 'at' on follow in the source. */
static void add_segment(TokenMaker *x, int store, int64_t at, int64_t count) {
    DataTokens *t = x->d->tokens;
    DataSource *s = x->source;
    const DataSegment *last = s->segments ? &t->segment[s->segment + s->segments - 1] : NULL;
    bool follows = last && last->store == store && last->at + (s->count - last->begin) == at;
    if (!follows && count) {
        t->segment[t->segments++] = (DataSegment){ store, at, s->count };
        s->segments++;
    }
    s->count += count;
}

/* Ids that are there go to the store of texts. */
static int store_ids(TokenMaker *x, Error *e) {
    TokenStore *store = &x->d->tokens->store[0];
    int64_t at = store->count;
    int status = token_store_add(store, x->ids.at, x->ids.count, e);
    if (!status) add_segment(x, 0, at, x->ids.count);
    return status;
}

/* Another document begins. */
static int separate(TokenMaker *x, Error *e) {
    if (!x->source->count || tokens_end_of(x) < 0) return STATUS_OK;
    x->ids.count = 0;
    token_ids_add(&x->ids, tokens_end_of(x));
    return x->ids.failed ? error_memory(e, "tokens", 64) : store_ids(x, e);
}

/* == Texts ================================================================ */

static int tokens_add_piece(TokenMaker *x, const DocumentPiece *p, Error *e) {
    int status = p->begins ? separate(x, e) : STATUS_OK;
    if (status) return status;
    bool first = !x->source->count;
    x->ids.count = 0;
    x->ids.first = 0;
    x->ids.before = p->before;
    x->ids.template = p->begins;
    if (p->begins && tokenizer_begins_texts(x->t))
        x->d->twice += tokenizer_spells_begin(x->t, p->text, p->length);
    status = token_ids_encode(&x->ids, x->t, p->place, p->text, p->length, e);
    if (first) x->first = (int64_t)x->ids.first;
    x->source->bytes += (int64_t)p->length;
    x->d->encoded += x->ids.count;
    x->d->unknown = x->ids.unknown;
    x->d->stray = x->ids.stray;
    return status ? status : store_ids(x, e);
}

static int add_documents(TokenMaker *x, const DataFile *file, Error *e) {
    DocumentReader r;
    DocumentPiece p = { 0 };
    int status = documents_open(&r, file, x->f->field, x->t->kind->utf8, e);
    if (status) return status;
    do {
        status = documents_next(&r, &p, e);
        if (!status && p.text) status = tokens_add_piece(x, &p, e);
    } while (!status && p.text);
    documents_close(&r);
    return status;
}

/* == Files ================================================================ */

/* Ids of 'width' bytes that stay in their file, from byte 'at' on. */
static int add_in_place(TokenMaker *x, const DataFile *file, int width, uint64_t at, int64_t count,
                        Error *e) {
    DataTokens *t = x->d->tokens;
    TokenStore *s = &t->store[t->stores];
    int status = separate(x, e);
    if (status) return status;
    token_store_file(s, file->path, &file->before);
    s->width = width;
    s->at = at;
    s->count = count;
    if (x->t->kind && x->t->kind->text_is_ids) {
        if (!x->source->count) x->first = 1;
        x->source->bytes += count;
    } else {
        x->measured = false;
    }
    add_segment(x, t->stores++, 0, count);
    return STATUS_OK;
}

/* An error if the file says that it is of another tokenizer; one that does not say is right. */
static int check_maker(const TokenMaker *x, const DataFile *file, Error *e) {
    static const unsigned char unknown[TOKEN_FILE_MAKER];
    unsigned char own[TOKEN_FILE_MAKER];
    if (!x->t->kind || !memcmp(file->tokens.maker, unknown, sizeof unknown)) return STATUS_OK;
    tokenizer_fingerprint(x->t, own);
    if (!memcmp(file->tokens.maker, own, sizeof own)) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "%s: expected tokens of the tokenizer that is used here, found those of "
                     "another; make them again from the text (strata tokens)",
                     file->path);
}

static int tokens_add_file(TokenMaker *x, const DataFile *file, Error *e) {
    if (file->kind == DATA_TOKENS) {
        int status = check_maker(x, file, e);
        return status
            ? status
            : add_in_place(x, file, file->tokens.width, TOKEN_FILE_HEADER, file->tokens.count, e);
    }
    int64_t size = file->before.st_size;
    if (file->kind == DATA_TEXT && file->form == STREAM_PLAIN && x->t->kind->text_is_ids
        && size > TOKEN_STORE_MEMORY - x->d->tokens->store[0].count)
        return add_in_place(x, file, 1, 0, size, e);
    return add_documents(x, file, e);
}

static int add_source(TokenMaker *x, const char *name, const DataWord *word, int words, Error *e) {
    Data *d = x->d;
    x->source = &d->source[d->sources++];
    *x->source =
        (DataSource){ .name = name, .weight = word->weight, .segment = d->tokens->segments };
    x->first = 0;
    x->measured = true;
    int status = STATUS_OK, end = word[words - 1].first + word[words - 1].files;
    for (int i = word->first; !status && i < end; i++)
        status = tokens_add_file(x, &x->f->file[i], e);
    x->source->bytes = x->measured ? x->source->bytes - x->first : 0;
    return status;
}

static int tokens_open_room(Data *d, const DataFiles *f, const Tokenizer *t, Error *e) {
    size_t files = (size_t)f->files;
    DataTokens *x = d->tokens = calloc(1, sizeof *x);
    d->source = calloc((size_t)f->words, sizeof *d->source);
    if (x) {
        x->store = calloc(files + 1, sizeof *x->store);
        x->segment = calloc(2 * files + 1, sizeof *x->segment);
    }
    if (!x || !d->source || !x->store || !x->segment)
        return error_memory(e, f->option, files * (sizeof *x->store + 2 * sizeof *x->segment));
    token_store_begin(&x->store[0], t->ids <= 256 ? 1 : t->ids <= 65536 ? 2 : 4);
    x->stores = 1;
    return STATUS_OK;
}

int data_tokens(Data *d, DataFiles *f, const Tokenizer *t, int64_t vocab, bool apart, Error *e) {
    *d = (Data){ .files = *f, .vocab = vocab, .owner = true };
    *f = (DataFiles){ 0 };
    f = &d->files;
    TokenMaker x = { .d = d, .f = f, .t = t, .ids.grows = true, .ids.open = true };
    const TokenizerKind *none;
    int status = t->kind || !data_files_text(f) ? STATUS_OK : tokenizer_kind("", &none, e);
    if (!status) status = tokens_open_room(d, f, t, e);
    if (!status) x.ids.width = d->tokens->store[0].width;
    if (!status && !apart && f->word[0].weight == 0) {
        status = add_source(&x, f->words > 1 ? f->option : f->word[0].name, f->word, f->words, e);
    } else {
        for (int i = 0; !status && i < f->words; i++)
            status = add_source(&x, f->word[i].name, &f->word[i], 1, e);
    }
    free(x.ids.at);
    if (status) data_free(d);
    return status;
}

/* == Learning ============================================================= */

typedef struct TextFiles {
    const DataFiles *f;
    bool utf8;
    int file; /* that is read */
    DocumentReader reader;
} TextFiles;

static int tokens_next_piece(void *user, const char **text, size_t *length, Error *e) {
    TextFiles *x = user;
    DocumentPiece p = { 0 };
    int status = STATUS_OK;
    while (!status && !p.text && x->file < x->f->files) {
        const DataFile *file = &x->f->file[x->file];
        if (file->kind != DATA_TOKENS) {
            if (!x->reader.file) status = documents_open(&x->reader, file, x->f->field, x->utf8, e);
            if (!status) status = documents_next(&x->reader, &p, e);
        }
        if (!p.text) {
            if (x->reader.file) documents_close(&x->reader);
            x->file++;
        }
    }
    *text = p.text;
    *length = p.length;
    return status;
}

int data_files_learn(const DataFiles *f, Tokenizer *t, const TokenizerKind *kind, int64_t vocab,
                     Error *e) {
    if (kind->tensor && !data_files_text(f))
        return error_set(e, STATUS_USER,
                         "%s: expected text that the tokenizer \"%s\" is learnt from, or weights "
                         "that have it (--init), found token files",
                         f->option, kind->name);
    TextFiles x = { .f = f, .utf8 = kind->utf8 };
    int status = tokenizer_learn_from(t, kind, vocab, &(TextSource){ tokens_next_piece, &x }, e);
    if (x.reader.file) documents_close(&x.reader);
    return status;
}

char *data_twice_words(char to[TWICE_WORDS], const char *what) {
    print_text(to, TWICE_WORDS,
               "%s begins with the token that begins texts, which is put in front of it too: there "
               "are two; --bos no leaves the one of the text",
               what);
    return to;
}

char *data_twice(char to[TWICE_WORDS], const Data *d) {
    char what[64];
    to[0] = 0;
    if (!d->twice) return to;
    print_text(what, sizeof what, "each of %lld texts", (long long)d->twice);
    return data_twice_words(to, d->twice > 1 ? what : "a text");
}
