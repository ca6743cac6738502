/* The tokenizer 'bytes': an id is a byte. */
#include "tokenizer.h"

static int enough(Tokenizer *t, int64_t vocab, Error *e) {
    t->ids = 256;
    if (vocab >= t->ids) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "vocab: expected at least 256 for the tokenizer \"bytes\", found %lld",
                     (long long)vocab);
}

static int learn(Tokenizer *t, int64_t vocab, const TextSource *from, Error *e) {
    (void)from;
    return enough(t, vocab, e);
}

static int load(Tokenizer *t, int64_t vocab, const Safetensors *s, Error *e) {
    (void)s;
    return enough(t, vocab, e);
}

static int encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                  TokenIds *ids, Error *e) {
    (void)t, (void)what, (void)e;
    ids->first = 1;
    for (size_t i = 0; i < length; i++)
        token_ids_add(ids, (unsigned char)text[i]);
    return STATUS_OK;
}

static int decode(const Tokenizer *t, int32_t id, char out[TOKEN_BYTES]) {
    (void)t;
    out[0] = (char)id;
    return id >= 0 && id < 256 ? 1 : -1;
}

const TokenizerKind tokenizer_bytes = { .name = "bytes",
                                        .text_is_ids = true,
                                        .end = -1,
                                        .learn = learn,
                                        .load = load,
                                        .encode = encode,
                                        .decode = decode };
