/* SPDX-License-Identifier: MIT
** See tokenizer_identity.h. */
#include "tokenizer_identity.h"

#include <string.h>

#include "hash.h"

void tokenizer_called(Tokenizer *t, const char *path, const char *sha256) {
    const char *slash = strrchr(path, '/');
    print_text(t->name, sizeof t->name, "%s", slash ? slash + 1 : path);
    print_text(t->sha256, sizeof t->sha256, "%s", sha256);
}

void tokenizer_identify(Tokenizer *t, const char *path, const char *bytes, size_t length) {
    char sha256[65];
    Sha256 h;
    sha256_start(&h);
    sha256_add(&h, bytes, length);
    sha256_text(&h, sha256);
    tokenizer_called(t, path, sha256);
}

void tokenizer_fingerprint(const Tokenizer *t, unsigned char to[32]) {
    char sha256[65];
    Sha256 h;
    sha256_start(&h);
    for (int32_t id = 0; id < t->ids; id++) {
        Decoder fresh = { .specials = true }; /* which are told apart by nothing but their names */
        const char *text;
        int n = t->kind->decode(t, id, &fresh, &text);
        const unsigned char length[4] = { (unsigned char)n, (unsigned char)(n >> 8),
                                          (unsigned char)(n >> 16), (unsigned char)(n >> 24) };
        sha256_add(&h, length, sizeof length);
        if (n > 0) sha256_add(&h, text, (size_t)n);
    }
    sha256_text(&h, sha256);
    for (int i = 0; i < 32; i++) {
        static const char digits[] = "0123456789abcdef";
        to[i] = (unsigned char)((strchr(digits, sha256[2 * i]) - digits) << 4
                                | (strchr(digits, sha256[2 * i + 1]) - digits));
    }
}

int tokenizer_metadata(const Tokenizer *t, Pair pair[2]) {
    if (!t->sha256[0]) return 0;
    pair[0] = (Pair){ "tokenizer", t->name };
    pair[1] = (Pair){ "tokenizer_sha256", t->sha256 };
    return 2;
}

int tokenizer_expect(const Safetensors *s, const Tokenizer *t, Error *e) {
    const char *sum = safetensors_metadata(s, "tokenizer_sha256"),
               *name = safetensors_metadata(s, "tokenizer");
    if (!sum || !strcmp(sum, t->sha256)) return STATUS_OK;
    if (!name) name = "another tokenizer";
    if (!t->sha256[0])
        error_set(e, STATUS_USER,
                  "%s: expected weights trained without a tokenizer's file, found those of %s "
                  "(%.12s)",
                  s->path, name, sum);
    else
        error_set(e, STATUS_USER,
                  "%s: expected weights trained with the tokenizer %s (%.12s), found those of %s "
                  "(%.12s)",
                  s->path, t->name, t->sha256, name, sum);
    return error_line(e, "a program's --tokenizer FILE says which one to use");
}
