/* Tokenizers, whatever their kind; see tokenizer.h. */
#include "tokenizer.h"

#include <string.h>

#include "utf8.h"

#define TOKENIZER(name, least) &tokenizer_##name,
static const TokenizerKind *const kinds[] = {
#include "tokenizers.def"
};
#undef TOKENIZER

#define TOKENIZER(name, least) " or \"" #name "\""
static const char known[] =
#include "tokenizers.def"
    ;
#undef TOKENIZER

int tokenizer_kind(const char *name, const TokenizerKind **kind, Error *e) {
    *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(name, kinds[i]->name)) *kind = kinds[i];
    if (*kind) return STATUS_OK;
    if (!*name)
        return error_set(e, STATUS_USER,
                         "text: expected a model with a tokenizer, found a spec without one");
    return error_set(e, STATUS_USER, "tokenizer: expected %s, found \"%s\": not in this version",
                     known + strlen(" or "), name);
}

int tokenizer_learn_from(Tokenizer *t, const TokenizerKind *kind, int64_t vocab,
                         const TextSource *from, Error *e) {
    *t = (Tokenizer){ .kind = kind };
    int status = kind->learn(t, vocab, from, e);
    if (status) tokenizer_free(t);
    return status;
}

typedef struct WholeText {
    const char *text;
    size_t length;
} WholeText;

static int next_piece(void *user, const char **text, size_t *length, Error *e) {
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
    return tokenizer_learn_from(t, kind, vocab, &(TextSource){ next_piece, &x }, e);
}

int tokenizer_load(Tokenizer *t, const TokenizerKind *kind, int64_t vocab, const Safetensors *s,
                   Error *e) {
    *t = (Tokenizer){ .kind = kind };
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

void tokenizer_free(Tokenizer *t) {
    if (t->kind && t->kind->free) t->kind->free(t);
    *t = (Tokenizer){ 0 };
}

/* == Encoding ============================================================= */

void token_ids_add(TokenIds *ids, int32_t id) {
    int64_t i = ids->count;
    ids->count++;
    if (i >= ids->room) return; /* token_ids_encode refuses the count */
    if (ids->width == 1) ((uint8_t *)ids->at)[i] = (uint8_t)id;
    else if (ids->width == 2) ((uint16_t *)ids->at)[i] = (uint16_t)id;
    else ((int32_t *)ids->at)[i] = id;
}

int token_ids_encode(TokenIds *ids, const Tokenizer *t, const char *what, const char *text,
                     size_t length, Error *e) {
    int status = t->kind->encode(t, what, text, length, ids, e);
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

static int append(char *out, int at, const void *bytes, int n) {
    memcpy(out + at, bytes, (size_t)n);
    out[at + n] = 0;
    return at + n;
}

/* What cannot be completed becomes one U+FFFD, and the byte that broke it starts anew. */
static int push_byte(Decoder *d, unsigned char byte, char *out, int at) {
    d->pending[d->count++] = byte;
    int begins = utf8_begins(d->pending, d->count);
    if (begins < 0 && d->count > 1) {
        at = append(out, at, REPLACEMENT, 3);
        d->pending[0] = byte;
        d->count = 1;
        begins = utf8_begins(d->pending, 1);
    }
    if (begins > 0) at = append(out, at, d->pending, d->count);
    if (begins < 0) at = append(out, at, REPLACEMENT, 3);
    if (begins) d->count = 0;
    return at;
}

int decoder_push(Decoder *d, const Tokenizer *t, int32_t id, char out[DECODER_OUT]) {
    char text[TOKEN_BYTES];
    int at = 0, bytes = t->kind->decode(t, id, text);
    out[0] = 0;
    if (bytes < 0) return append(out, decoder_end(d, out), REPLACEMENT, 3);
    for (int i = 0; i < bytes; i++)
        at = push_byte(d, (unsigned char)text[i], out, at);
    return at;
}

int decoder_end(Decoder *d, char out[DECODER_OUT]) {
    out[0] = 0;
    if (!d->count) return 0;
    d->count = 0;
    return append(out, 0, REPLACEMENT, 3);
}
