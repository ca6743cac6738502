/* SPDX-License-Identifier: MIT
** .tiktoken files, of a pattern that is told. What is accepted keeps the promises. */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "tokenizer_promises.h"

const int fuzz_bytes = 3;
const char *const fuzz_words[] = { "=",   "==",        "\n",    " ",     "\r\n", "0",
                                   "256", "999999999", "YWI= ", "//8= ", "AAAA", NULL };

/* Half of the time each line gets the rank of its place, which mutations leave to few. */
void fuzz_repair(FuzzInput *f) {
    static char all[FUZZ_ROOM + 64];
    size_t n = 0, rank = 0;
    if (!fuzz_below(f, 2)) return;
    for (size_t i = 0; i < f->n && n + 1100 < FUZZ_ROOM; rank++) {
        const unsigned char *stop = memchr(f->bytes + i, '\n', f->n - i);
        size_t end = stop ? (size_t)(stop - f->bytes) : f->n, k = i;
        while (k < end && f->bytes[k] != ' ' && k - i < 1000)
            k++;
        memcpy(all + n, f->bytes + i, k - i);
        n += k - i;
        n += (size_t)snprintf(all + n, 32, " %zu\n", rank);
        i = end + 1;
    }
    memcpy(f->bytes, all, n);
    f->n = n;
}

/* All bytes, and some pairs of them. */
size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char *const more[] = { "YWI= 256\nICA= 257\nYWJj 258\n", "w6k= 256\nIGE= 257\n" };
    size_t n = 0;
    if (k >= 2) return 0;
    for (unsigned i = 0; i < 256; i++)
        n += (size_t)sprintf((char *)to + n, "%c%c== %u\n", digit[i >> 2], digit[(i & 3) << 4], i);
    memcpy(to + n, more[k], strlen(more[k]));
    return n + strlen(more[k]);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    return tokenizer_promises((const char *)bytes, n, "\\p{L}+|\\s+(?!\\S)|[^\\p{L}]", NULL);
}
