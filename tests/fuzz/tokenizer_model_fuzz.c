/* SPDX-License-Identifier: MIT
** SentencePiece's models. What is accepted keeps the promises of tokenizer_promises.h. */
#include <string.h>

#include "fuzz.h"
#include "tokenizer_promises.h"

const int fuzz_bytes = 6;
const char *const fuzz_words[] = { "\n\x08\n\x01x\x15",
                                   "\x18\x01",
                                   "\x18\x02",
                                   "\x18\x03",
                                   "\x18\x04",
                                   "\x18\x05",
                                   "\x18\x06",
                                   "\xe2\x96\x81",
                                   "<0x41>",
                                   "\x98\x02\x01",
                                   "\xff\xff\xff\xff\x0f",
                                   "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                   "\x80\x3f",
                                   NULL };

void fuzz_repair(FuzzInput *f) { (void)f; }

/* A field with a length of one byte; returns behind it. */
static unsigned char *field(unsigned char *to, int number, const void *bytes, size_t n) {
    *to++ = (unsigned char)(number << 3 | 2);
    *to++ = (unsigned char)n;
    memcpy(to, bytes, n);
    return to + n;
}

static unsigned char *piece(unsigned char *to, const char *text, int score, int type) {
    unsigned char all[64], *end = field(all, 1, text, strlen(text));
    float less = (float)-score;
    *end++ = 2 << 3 | 5;
    memcpy(end, &less, 4);
    end += 4;
    *end++ = 3 << 3;
    *end++ = (unsigned char)type;
    return field(to, 1, all, (size_t)(end - all));
}

/* With a map of "A" to "b": units of the root, of A behind it, and of its value. */
static unsigned char *normalizer(unsigned char *to, bool spaces, bool map) {
    unsigned char all[128], blob[128] = { 0 }, *end = all;
    uint32_t unit[6] = { 0x44 << 10, 0, 0, 0, 2, 1 << 10 | 1 << 8 | 'A' }, size = sizeof unit;
    memcpy(blob, &size, 4);
    memcpy(blob + 4, unit, sizeof unit);
    memcpy(blob + 4 + sizeof unit, "a\0b", 4);
    if (map) end = field(end, 2, blob, 4 + sizeof unit + 4);
    for (int i = 3; i <= 5; i++) {
        *end++ = (unsigned char)(i << 3);
        *end++ = spaces;
    }
    return field(to, 3, all, (size_t)(end - all));
}

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const char *const text[] = { "\xe2\x96\x81",
                                        "a",
                                        "b",
                                        "ab",
                                        "\xe2\x96\x81"
                                        "a",
                                        "<x>" };
    unsigned char *end = to, trainer[] = { 3 << 3, (unsigned char)(k & 1 ? 2 : 1) };
    if (k >= 4) return 0;
    end = piece(end, "<unk>", 0, 2);
    end = piece(end, "<s>", 0, 3);
    for (int i = 0; i < 6; i++)
        end = piece(end, text[i], 6 - i, i == 5 ? 4 : 1);
    end = field(end, 2, trainer, sizeof trainer);
    end = normalizer(end, k < 2, k == 0);
    return (size_t)(end - to);
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    return tokenizer_promises((const char *)bytes, n, NULL, NULL);
}
