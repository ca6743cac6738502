/* SPDX-License-Identifier: MIT
** Tokenizers, whatever their kind; see tokenizer.h. */
#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define TOKENIZER(name, least) &tokenizer_##name,
static const TokenizerKind *const tokenizer_kinds[] = {
#include "tokenizers.def"
};
#undef TOKENIZER

#define TOKENIZER(name, least) " or \"" #name "\""
static const char tokenizer_known[] =
#include "tokenizers.def"
    ;
#undef TOKENIZER

int tokenizer_kind(const char *name, const TokenizerKind **kind, Error *e) {
    *kind = NULL;
    for (size_t i = 0; i < sizeof tokenizer_kinds / sizeof *tokenizer_kinds; i++)
        if (!strcmp(name, tokenizer_kinds[i]->name)) *kind = tokenizer_kinds[i];
    if (*kind) return STATUS_OK;
    if (!*name)
        return error_set(e, STATUS_USER,
                         "text: expected a model with a tokenizer, found a spec without one");
    return error_set(e, STATUS_USER, "tokenizer: expected %s, found \"%s\": not in this version",
                     tokenizer_known + strlen(" or "), name);
}

int tokenizer_learn_from(Tokenizer *t, const TokenizerKind *kind, int64_t vocab,
                         const TextSource *from, Error *e) {
    *t = (Tokenizer){ .kind = kind, .end = -1 };
    text_facts_none(&t->facts);
    int status = kind->learn(t, vocab, from, e);
    if (status) tokenizer_free(t);
    return status;
}

typedef struct WholeText {
    const char *text;
    size_t length;
} WholeText;

static int tokenizer_next_piece(void *user, const char **text, size_t *length, Error *e) {
    WholeText *x = user;
    (void)e;
    *text = x->text;
    *length = x->length;
    x->text = NULL;
    return STATUS_OK;
}

int tokenizer_learn(Tokenizer *t, const TokenizerKind *kind, int64_t vocab, const char *text,
                    size_t length, Error *e) {
    WholeText x = { text, length };
    return tokenizer_learn_from(t, kind, vocab, &(TextSource){ tokenizer_next_piece, &x }, e);
}

int tokenizer_load(Tokenizer *t, const TokenizerKind *kind, int64_t vocab, const Safetensors *s,
                   Error *e) {
    *t = (Tokenizer){ .kind = kind, .end = -1 };
    text_facts_none(&t->facts);
    int status = kind->load(t, vocab, s, e);
    if (status) tokenizer_free(t);
    return status;
}

bool tokenizer_held(const TokenizerKind *kind, const Safetensors *s) {
    return !kind->tensor || safetensors_find(s, kind->tensor);
}

int tokenizer_save(const Tokenizer *t, TensorList *l, Error *e) {
    return t->kind && t->kind->save ? t->kind->save(t, l, e) : STATUS_OK;
}

int32_t tokenizer_find(const Tokenizer *t, const char *piece) {
    return t->kind && t->kind->find && *piece ? t->kind->find(t, piece, strlen(piece)) : -1;
}

void tokenizer_free(Tokenizer *t) {
    if (t->kind && t->kind->free) t->kind->free(t);
    if (t->kind) text_facts_free(&t->facts);
    *t = (Tokenizer){ 0 };
}

/* == Encoding ============================================================= */

int token_ids_encode(TokenIds *ids, const Tokenizer *t, const char *what, const char *text,
                     size_t length, Error *e) {
    int status = t->kind->encode(t, what, text, length, ids, e);
    if (!status && ids->failed)
        status = error_memory(e, what, (size_t)ids->count * (size_t)ids->width);
    if (status || ids->count <= ids->room) return status;
    return error_set(e, STATUS_INTERNAL, "%s: expected at most %lld tokens, found %lld", what,
                     (long long)ids->room, (long long)ids->count);
}

int tokenizer_encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                     int32_t *out, int64_t *count, Error *e) {
    TokenIds ids = { .at = out, .width = 4, .room = (int64_t)length };
    int status = token_ids_encode(&ids, t, what, text, length, e);
    *count = ids.count;
    return status;
}

/* == Decoding ============================================================= */

#define REPLACEMENT "\xef\xbf\xbd"

static void tokenizer_replace(Decoder *d, const Tokenizer *t) {
    for (int n = t->each_byte ? d->count : 1; n > 0; n--)
        text_bytes(&d->text, REPLACEMENT, 3);
    d->count = 0;
}

/* What cannot be completed becomes U+FFFD, and the byte that broke it starts anew. */
static void push_byte(Decoder *d, const Tokenizer *t, unsigned char byte) {
    d->pending[d->count++] = byte;
    int begins = utf8_begins(d->pending, d->count);
    if (begins < 0 && d->count > 1) {
        d->count--;
        tokenizer_replace(d, t);
        d->pending[d->count++] = byte;
        begins = utf8_begins(d->pending, 1);
    }
    if (begins > 0) text_bytes(&d->text, (char *)d->pending, (size_t)d->count);
    if (begins < 0) tokenizer_replace(d, t);
    if (begins) d->count = 0;
}

static void push_text(Decoder *d, const Tokenizer *t, const char *text, size_t length) {
    size_t i = 0;
    while (i < length) {
        size_t from = i;
        while (i < length && !d->count && !(text[i] & 0x80))
            i++;
        text_bytes(&d->text, text + from, i - from);
        if (i < length) push_byte(d, t, (unsigned char)text[i++]);
    }
}

static void push_id(Decoder *d, const Tokenizer *t, int32_t id) {
    const char *text = "";
    int bytes = t->kind->decode(t, id, d, &text);
    if (bytes >= 0) {
        push_text(d, t, text, (size_t)bytes);
        return;
    }
    if (d->count) tokenizer_replace(d, t);
    text_bytes(&d->text, REPLACEMENT, 3);
}

int decoder_push(Decoder *d, const Tokenizer *t, int32_t id, Error *e) {
    text_clear(&d->text);
    text_bytes(&d->text, "", 0);
    push_id(d, t, id);
    return text_status(&d->text, e);
}

int decoder_end(Decoder *d, const Tokenizer *t, Error *e) {
    text_clear(&d->text);
    text_bytes(&d->text, "", 0);
    if (d->count) tokenizer_replace(d, t);
    d->begun = d->seen = false;
    return text_status(&d->text, e);
}

void decoder_free(Decoder *d) {
    text_free(&d->text);
    *d = (Decoder){ 0 };
}

/* How many ids from the first on are bytes'; *valid: they make characters. */
static int64_t byte_run(const Tokenizer *t, const int32_t *ids, int64_t count, bool *valid) {
    unsigned char pending[4];
    int held = 0, byte;
    int64_t n = 0;
    *valid = true;
    for (; n < count && (byte = t->kind->byte(t, ids[n])) >= 0; n++) {
        if (!*valid) continue;
        pending[held++] = (unsigned char)byte;
        int begins = utf8_begins(pending, held);
        if (begins) held = 0;
        if (begins < 0) *valid = false;
    }
    if (held) *valid = false;
    return n;
}

char *tokenizer_unknown(char to[UNKNOWN_WORDS], const Tokenizer *t, const char *what,
                        int64_t unknown, int64_t all) {
    char share[32];
    to[0] = 0;
    if (unknown > 0)
        print_text(to, UNKNOWN_WORDS,
                   "%lld characters of %s, %s %%, are not among the %d of the vocabulary: one "
                   "token stands for all of them",
                   (long long)unknown, what,
                   print_figures(share, 100.0 * (double)unknown / (double)all, 2), t->ids - 4);
    return to;
}

char *tokenizer_stray(char to[STRAY_WORDS], const Tokenizer *t, const char *what, int64_t stray) {
    to[0] = 0;
    if (stray > 0)
        print_text(to, STRAY_WORDS, "%lld byte%s of %s %s not UTF-8: %s", (long long)stray,
                   stray == 1 ? "" : "s", what, stray == 1 ? "is" : "are",
                   t->any_bytes
                       ? "kept, as tokens of bytes"
                       : "U+FFFD is in the place, as the tokenizer has no tokens of bytes");
    return to;
}

int tokenizer_decode(const Tokenizer *t, const int32_t *ids, int64_t count, bool specials,
                     Text *text, Error *e) {
    Decoder d = { .specials = specials, .text = *text };
    text_bytes(&d.text, "", 0);
    for (int64_t i = 0; i < count;) {
        bool valid = true;
        int64_t run = t->kind->byte ? byte_run(t, ids + i, count - i, &valid) : 0;
        if (!run) run = 1;
        for (int64_t k = 0; k < run; k++)
            push_id(&d, t, valid ? ids[i + k] : -1);
        i += run;
        if (!valid) d.begun = true;
    }
    if (d.count) tokenizer_replace(&d, t);
    *text = d.text;
    return text_status(text, e);
}
