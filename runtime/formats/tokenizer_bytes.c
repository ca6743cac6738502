/* SPDX-License-Identifier: MIT
** The tokenizer 'bytes': an id is a byte. */
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

static int bytes_load(Tokenizer *t, int64_t vocab, const Safetensors *s, Error *e) {
    (void)s;
    return enough(t, vocab, e);
}

static int bytes_encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                        TokenIds *ids, Error *e) {
    (void)t, (void)what, (void)e;
    ids->first = 1;
    for (size_t i = 0; i < length; i++)
        token_ids_add(ids, (unsigned char)text[i]);
    return STATUS_OK;
}

#define ROW(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
static const unsigned char every[256] = {
    ROW(0),   ROW(8),   ROW(16),  ROW(24),  ROW(32),  ROW(40),  ROW(48),  ROW(56),
    ROW(64),  ROW(72),  ROW(80),  ROW(88),  ROW(96),  ROW(104), ROW(112), ROW(120),
    ROW(128), ROW(136), ROW(144), ROW(152), ROW(160), ROW(168), ROW(176), ROW(184),
    ROW(192), ROW(200), ROW(208), ROW(216), ROW(224), ROW(232), ROW(240), ROW(248)
};

static int bytes_decode(const Tokenizer *t, int32_t id, Decoder *d, const char **text) {
    (void)t, (void)d;
    if (id < 0 || id > 255) return -1;
    *text = (const char *)&every[id];
    return 1;
}

const TokenizerKind tokenizer_bytes = { .name = "bytes",
                                        .text_is_ids = true,
                                        .learn = learn,
                                        .load = bytes_load,
                                        .encode = bytes_encode,
                                        .decode = bytes_decode };
