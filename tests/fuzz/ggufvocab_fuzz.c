/* SPDX-License-Identifier: MIT
** tokenizer.json for GGUF.  What is accepted has a token and a type for each id. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gguf_tokenizer.h"

enum { VOCAB = 8 };

const int fuzz_bytes = 6;
const char *const fuzz_words[] = { "\"model\"",
                                   "\"vocab\"",
                                   "\"merges\"",
                                   "\"a b\"",
                                   "\"added_tokens\"",
                                   "\"id\"",
                                   "\"content\"",
                                   "\"special\"",
                                   "\"pre_tokenizer\"",
                                   "\"Digits\"",
                                   "\"Sequence\"",
                                   "[]",
                                   "{}",
                                   "-1",
                                   "8",
                                   "7",
                                   "null",
                                   "true",
                                   NULL };

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char *const valid[] = {
        "{\"added_tokens\": [{\"id\": 4, \"content\": \"<s>\", \"special\": true}], "
        "\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"decoder\": {\"type\": \"ByteLevel\"}, "
        "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2, \"ba\": 3}, "
        "\"merges\": [[\"a\", \"b\"], \"b a\"]}}",
        "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Digits\", "
        "\"individual_digits\": true}, {\"type\": \"ByteLevel\"}]}, \"decoder\": {\"type\": "
        "\"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}}",
    };
    if (k >= sizeof valid / sizeof *valid) return 0;
    memcpy(to, valid[k], strlen(valid[k]));
    return strlen(valid[k]);
}

void fuzz_repair(FuzzInput *f) { (void)f; }

/* Where the list of a key begins, behind its length. */
static const char *list_of(const Gguf *g, const char *key, uint64_t *count) {
    const char *at = memmem(g->pairs.at, g->pairs.length, key, strlen(key));
    if (!at) fuzz_broken("a list is missing");
    at += strlen(key) + 4 + 4;
    memcpy(count, at, sizeof *count);
    return at + sizeof *count;
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    Gguf g = { 0 };
    Error e = { 0 };
    uint64_t count;
    const char *note;
    int status = gguf_tokenizer(&g, fuzz_file(bytes, n), VOCAB, &note, &e);
    if (status && !e.text[0]) fuzz_broken("an error says nothing");
    if (!status) {
        const char *at = list_of(&g, "tokenizer.ggml.tokens", &count);
        for (uint64_t i = 0, length; i < count; i++, at += sizeof length + length) {
            memcpy(&length, at, sizeof length);
            if (length > n + 8) fuzz_broken("a token is longer than the file");
        }
        if (count != VOCAB) fuzz_broken("there are more tokens than ids");
        list_of(&g, "tokenizer.ggml.token_type", &count);
        if (count != VOCAB) fuzz_broken("there are more types than ids");
    }
    text_free(&g.pairs);
    return !status;
}
