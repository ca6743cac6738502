/* SPDX-License-Identifier: MIT
** Tokenizers: learnt from a part of the input, given another.  The first byte says how much.  Ids
** are the tokenizer's, and what has no unknown character comes back as it was.
*/
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tokenizer.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = {
    "a",    "\n",       "\xc3\xa9",     "\xe2\x82\xac", "\xf0\x9f\x98\x80",
    "\xff", "\xc0\x80", "\xed\xa0\x80", "\xef\xbf\xbd", "\xf4\x90\x80\x80",
    NULL
};

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char *const valid[] = {
        "\x20the quick brown fox jumps over the lazy dog, and the dog sleeps on",
        "\x0a\xc3\xa9t\xc3\xa9 \xe2\x82\xac 100 \xc3\xa9t\xc3\xa9",
        "\x05hello\xf0\x9f\x98\x80",
    };
    if (k >= sizeof valid / sizeof *valid) return 0;
    memcpy(to, valid[k], strlen(valid[k]));
    return strlen(valid[k]);
}

void fuzz_repair(FuzzInput *f) { (void)f; }

/* The text of ids again: id by id, and as a whole. */
static void decode(const Tokenizer *t, const int32_t *ids, int64_t count, Text *back) {
    Decoder d = { 0 };
    Text whole = { 0 };
    for (int64_t i = 0; i <= count; i++) {
        if (i < count ? decoder_push(&d, t, ids[i], NULL) : decoder_end(&d, t, NULL)) abort();
        text_bytes(back, d.text.at, d.text.length);
    }
    decoder_free(&d);
    if (tokenizer_decode(t, ids, count, false, &whole, NULL)) abort();
    if (whole.length != back->length || memcmp(whole.at, back->at, whole.length))
        fuzz_broken("ids have one text one by one, another as a whole");
    text_free(&whole);
}

static int try_kind(const TokenizerKind *kind, const char *text, size_t learnt, size_t n) {
    Tokenizer t;
    Error e;
    int64_t count = 0;
    if (tokenizer_learn(&t, kind, 300, text, learnt, &e)) return 0;
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    Text back = { 0 };
    if (!ids) abort();
    int status = tokenizer_encode(&t, "fuzz", text, n, ids, &count, &e);
    bool known = !status;
    for (int64_t i = 0; !status && i < count; i++) {
        if (ids[i] < 0 || ids[i] >= t.ids) fuzz_broken("an id is none of the tokenizer's");
        known = known && (kind == &tokenizer_bytes || ids[i] > 3);
    }
    if (!status) decode(&t, ids, count, &back);
    if (kind == &tokenizer_chars && known && (back.length != n || memcmp(back.at, text, n)))
        fuzz_broken("a text comes back as another");
    free(ids), text_free(&back);
    tokenizer_free(&t);
    return !status;
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    if (!n) return 0;
    const char *text = (const char *)bytes + 1;
    size_t learnt = *bytes < n - 1 ? *bytes : n - 1;
    return try_kind(&tokenizer_bytes, text, learnt, n - 1)
        & try_kind(&tokenizer_chars, text, learnt, n - 1);
}
