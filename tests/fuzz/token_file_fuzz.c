/* SPDX-License-Identifier: MIT
** Token files.  One that is accepted has the tokens that its size says, none of them given out
** beyond the vocabulary, and each the same in whatever pieces they are read; one that is cut
** afterwards gives an error.
*/
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "fuzz.h"

enum { VOCAB = 300, SHOWN = 64 };

const int fuzz_bytes = 5;
const char *const fuzz_words[] = { "\x88\xd8\x34\x01",
                                   "\xa1\xd9\x34\x01",
                                   "\x8a\xd8\x34\x01",
                                   "\x01\x34\xd8\x88",
                                   "\x01",
                                   "\x07",
                                   "\xff\xff\xff\xff",
                                   "\x2c\x01",
                                   "\xff\x7f",
                                   "\x80",
                                   NULL };

size_t fuzz_seed(size_t k, unsigned char *to) {
    static const TokenHeader head[] = { { .width = 2, .count = 5 },
                                        { .width = 4, .count = 3 },
                                        { .width = 2, .count = 1 },
                                        { .width = 4, .count = 400 } };
    if (k >= sizeof head / sizeof *head) return 0;
    token_file_print(&head[k], to);
    size_t n = (size_t)head[k].count * (size_t)head[k].width;
    memset(to + TOKEN_FILE_HEADER, 0, n);
    for (size_t i = 0; i < n; i += (size_t)head[k].width)
        to[TOKEN_FILE_HEADER + i] = (unsigned char)i;
    return TOKEN_FILE_HEADER + n;
}

/* Half of them say how many tokens they have. */
void fuzz_repair(FuzzInput *f) {
    if (f->n < TOKEN_FILE_HEADER || fuzz_below(f, 2)) return;
    int width = f->bytes[0] == 0xa1 ? 4 : 2;
    size_t count = (f->n - TOKEN_FILE_HEADER) / (size_t)width;
    f->n = TOKEN_FILE_HEADER + count * (size_t)width;
    for (int k = 0; k < 8; k++)
        f->bytes[8 + k] = (unsigned char)((uint64_t)count >> 8 * k);
}

static void check_tokens(const Data *d, const unsigned char *bytes) {
    Error e = { 0 };
    int32_t all[SHOWN], one;
    int width = bytes[0] == 0xa1 ? 4 : 2;
    int64_t count = data_count(d) < SHOWN ? data_count(d) : SHOWN, known = 0;
    for (; known < count; known++) {
        if (data_read(d, 0, known, 1, &one, &e)) break;
        if (one < 0 || one >= VOCAB) fuzz_broken("an id is beyond the vocabulary");
        uint32_t id = 0;
        memcpy(&id, bytes + TOKEN_FILE_HEADER + known * width, (size_t)width);
        if (id != (uint32_t)one) fuzz_broken("an id is another one's");
        all[known] = one;
    }
    if (known < count && !e.text[0]) fuzz_broken("an error says nothing");
    int32_t again[SHOWN];
    if (known && data_read(d, 0, 0, known, again, &e)) fuzz_broken("tokens are there by ones only");
    if (memcmp(all, again, (size_t)known * sizeof *all)) fuzz_broken("tokens differ by pieces");
}

int fuzz_read(const unsigned char *bytes, size_t n) {
    const char *path = fuzz_file(bytes, n);
    DataFiles f;
    Data d;
    Error e = { 0 };
    int32_t id;
    int status = data_files_open(&f, &(DataWords){ "--data", &path, 1, "text" }, &e);
    if (status && !e.text[0]) fuzz_broken("an error says nothing");
    if (status) return 0;
    bool tokens = f.file[0].kind == DATA_TOKENS;
    if (tokens
        && (uint64_t)f.file[0].tokens.count * (uint64_t)f.file[0].tokens.width
            != n - TOKEN_FILE_HEADER)
        fuzz_broken("tokens are miscounted");
    if (!tokens) return data_files_free(&f), 0;
    if (data_tokens(&d, &f, &(Tokenizer){ 0 }, VOCAB, false, &e)) fuzz_broken("a file is none");
    if (data_count(&d) > 0) check_tokens(&d, bytes);
    if (truncate(path, (off_t)n - 1)) abort();
    if (!data_read(&d, 0, data_count(&d) - 1, 1, &id, &e)) fuzz_broken("a cut file is whole");
    data_free(&d);
    return 1;
}
