/* SPDX-License-Identifier: MIT
** strata tokens: from texts to a token file, which training reads like the texts themselves.  It
** uses the tokenizing code of programs (data.h), so that both give the same ids.
*/
#include "build.h"
#include "command.h"
#include "console.h"
#include "data.h"
#include "place.h"
#include "tokenizer_file.h"
#include "tokenizer_identity.h"

#include <stdlib.h>
#include <string.h>

/* What makes tokens. */
typedef struct TokensOptions {
    const char *output, *spec, *tokenizer, *weights;
    bool overwrite;
    BeginChoice bos;
    DataWords words;
} TokensOptions;

static int tokens_take(TokensOptions *to, const Options *o, Error *e) {
    *to = (TokensOptions){
        .output = option_of(o, STRATA_OPTION_TOKEN_FILE)->text,
        .spec = option_of(o, STRATA_OPTION_TOKENS_SPEC)->text,
        .tokenizer = option_of(o, STRATA_OPTION_TOKENIZER)->text,
        .weights = option_of(o, STRATA_OPTION_TOKENIZER_WEIGHTS)->text,
        .overwrite = option_of(o, STRATA_OPTION_OVERWRITE)->given,
        .bos = (BeginChoice)option_of(o, STRATA_OPTION_TOKENS_BOS)->choice,
        .words = { "strata tokens", (const char *const *)o->word, o->words,
                   option_of(o, STRATA_OPTION_FIELD)->text },
    };
    if (!o->words)
        return error_set(e, STATUS_USAGE,
                         "strata tokens: expected texts, JSON lines, token files or folders, found "
                         "none");
    if (!to->output)
        return error_set(e, STATUS_USAGE, "strata tokens: expected -o FILE, found none");
    if (!to->spec == !to->tokenizer)
        return error_set(e, STATUS_USAGE, "strata tokens: expected --spec or --tokenizer, found %s",
                         to->spec ? "both" : "neither");
    return STATUS_OK;
}

/* == The tokenizer ======================================================== */

static int check_unlearnt(const TokensOptions *o, const char *tokenizer, Error *e) {
    if (!o->weights) return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "strata tokens: --weights: expected a tokenizer that is learnt from training "
                     "text with it, found '%s'",
                     tokenizer);
}

/* A tokenizer that is learnt from training text is in the weights that were trained on it. */
static int tokens_load(Tokenizer *t, const TokensOptions *o, const TokenizerKind *kind,
                       int64_t vocab, Error *e) {
    Safetensors s = { 0 };
    int status = STATUS_OK;
    if (kind->tensor && !o->weights)
        return error_set(e, STATUS_USAGE,
                         "strata tokens: expected --weights W, trained with the tokenizer \"%s\", "
                         "which is learnt from the training text, found none",
                         kind->name);
    if (!kind->tensor) status = check_unlearnt(o, kind->name, e);
    if (status) return status;
    if (!o->weights) return tokenizer_learn(t, kind, vocab, "", 0, e);
    status = safetensors_open(&s, o->weights, e);
    if (!status) status = safetensors_verify(&s, NULL, e);
    if (!status) status = tokenizer_load(t, kind, vocab, &s, e);
    safetensors_close(&s);
    return status;
}

static int of_spec(Tokenizer *t, const TokensOptions *o, Allowance *a, int64_t *vocab, Error *e) {
    const TokenizerKind *kind;
    Model *m = build_load(o->spec, a, e);
    if (!m) return e->status;
    const CarriedFile *f = &m->tokenizer_file;
    *vocab = m->vocab;
    int status = place_unread_all(o->output, m->read_file, m->nread_file, e);
    if (!status && f->bytes) status = check_unlearnt(o, m->tokenizer, e);
    if (!status)
        status = f->bytes ? tokenizer_parse(t, m->tokenizer, f->bytes, f->size, e)
                          : tokenizer_kind(m->tokenizer ? m->tokenizer : "", &kind, e);
    if (!status && !f->bytes) status = tokens_load(t, o, kind, *vocab, e);
    spec_free(m);
    return status;
}

/* Of a kind, else of a file. */
static int of_name(Tokenizer *t, const TokensOptions *o, int64_t *vocab, Error *e) {
    const TokenizerKind *kind;
    int status = tokenizer_kind(o->tokenizer, &kind, NULL);
    status = status ? tokenizer_open(t, o->tokenizer, NULL, NULL, e)
                    : tokens_load(t, o, kind, INT32_MAX, e);
    if (status)
        error_line(e, "%s",
                   "--tokenizer takes bytes, chars, or a tokenizer.json, .model or "
                   ".tiktoken that is here");
    *vocab = t->ids;
    return status;
}

/* == The file ============================================================= */

static bool is_tokens(const PlaceFile *f, const void *user) {
    (void)user;
    return f->length >= TOKEN_FILE_HEADER && token_file_ours((const unsigned char *)f->head);
}

static int tokens_check_output(const TokensOptions *o, const DataFiles *f, Error *e) {
    const FilePlace place = { .path = o->output, .is_own = is_tokens, .overwrite = o->overwrite };
    int status = place_unread(o->output, o->tokenizer, e);
    if (!status) status = place_unread(o->output, o->weights, e);
    for (int i = 0; !status && i < f->files; i++)
        status = place_unread(o->output, f->file[i].path, e);
    return status ? status : place_check(&place, e);
}

/* Ids of 2 or 4 bytes, little-endian. */
static void tokens_narrow(const int32_t *ids, int64_t n, int width, unsigned char *to) {
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < width; k++)
            *to++ = (unsigned char)((uint32_t)ids[i] >> 8 * k);
}

static int write_ids(Output *out, const Data *d, const TokenHeader *h, Error *e) {
    enum { PIECE = 1 << 13 };
    int32_t ids[PIECE];
    unsigned char bytes[PIECE * sizeof *ids];
    int status = STATUS_OK;
    for (int64_t at = 0, n; !status && at < h->count; at += n) {
        n = h->count - at < PIECE ? h->count - at : PIECE;
        status = data_read(d, 0, at, n, ids, e);
        if (status) break;
        tokens_narrow(ids, n, h->width, bytes);
        status = output_write(out, bytes, (size_t)n * (size_t)h->width, e);
    }
    return status;
}

static int write_tokens(const char *path, const Data *d, const TokenHeader *h, Error *e) {
    Output out;
    unsigned char head[TOKEN_FILE_HEADER];
    int status = output_open(&out, path, e);
    if (status) return status;
    token_file_print(h, head);
    status = output_write(&out, head, sizeof head, e);
    if (!status) status = write_ids(&out, d, h, e);
    if (!status) return output_commit(&out, false, e);
    output_discard(&out);
    return status;
}

static void tokens_tell_text(const Data *d, const Tokenizer *t, FILE *console) {
    char twice[TWICE_WORDS], unknown[UNKNOWN_WORDS], stray[STRAY_WORDS];
    const char *const note[] = { data_twice(twice, d),
                                 tokenizer_unknown(unknown, t, "the text", d->unknown, d->encoded),
                                 tokenizer_stray(stray, t, "the text", d->stray) };
    for (int i = 0; i < 3; i++)
        if (*note[i]) show_line(console, "note: ", note[i], "");
}

static int tokens_make(const TokensOptions *o, const Tokenizer *t, int64_t vocab, FILE *console,
                       Error *e) {
    DataFiles f;
    Data d = { 0 };
    int status = data_files_open(&f, &o->words, e);
    if (status) return status;
    status = data_files_unweighted(&f, e);
    if (!status)
        status = data_field_used(f.field, "strata tokens: --field", data_files_fields(&f), e);
    if (!status) status = tokens_check_output(o, &f, e);
    if (!status)
        status = tokenizer_begin_used(o->bos, "strata tokens: --bos", data_files_text(&f), e);
    if (!status) status = data_tokens(&d, &f, t, vocab, false, e);
    data_files_free(&f);
    TokenHeader h = { .width = t->ids <= 65536 ? 2 : 4, .count = data_count(&d) };
    tokenizer_fingerprint(t, h.maker);
    if (!status) status = data_enough(&d, o->words.option, 0, e);
    if (!status) status = write_tokens(o->output, &d, &h, e);
    if (!status) tokens_tell_text(&d, t, console);
    if (!status) {
        Text line = { 0 };
        text_add(&line, "%s: %lld tokens of %d bits\n", o->output, (long long)h.count, 8 * h.width);
        status = console_lines(&line, e);
    }
    data_free(&d);
    return status;
}

int command_tokens(const Options *given, Allowance *a, Error *e) {
    TokensOptions o;
    Tokenizer t = { 0 };
    int64_t vocab = 0;
    int status = tokens_take(&o, given, e);
    if (!status && !o.spec) status = allowance_unchosen(a, e);
    if (!status) status = o.spec ? of_spec(&t, &o, a, &vocab, e) : of_name(&t, &o, &vocab, e);
    if (!status) status = tokenizer_put_begin(&t, o.bos, "strata tokens: --bos", e);
    allowance_lift(a); /* for compiling: texts may take as long as they do */
    if (!status) status = tokens_make(&o, &t, vocab, a->console, e);
    tokenizer_free(&t);
    return status;
}
