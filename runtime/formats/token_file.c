/* SPDX-License-Identifier: MIT
** The header of token files; see token_file.h. */
#include "token_file.h"

#include <string.h>

enum { NARROW = 20240520, NARROW_VERSION = 1, WIDE = 20240801, WIDE_VERSION = 7, TASKS = 20240522 };
enum { MAKER = 16 }; /* the byte where it stands */

static uint32_t token_file_word(const unsigned char *bytes, int i) {
    const unsigned char *p = bytes + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_word(unsigned char *to, int i, uint32_t value) {
    for (int k = 0; k < 4; k++)
        to[4 * i + k] = (unsigned char)(value >> 8 * k);
}

bool token_file_begins(const unsigned char *bytes, size_t n) {
    if (n < 4) return false;
    uint32_t magic = token_file_word(bytes, 0), turned = __builtin_bswap32(magic);
    return magic == NARROW || magic == WIDE || magic == TASKS || turned == NARROW || turned == WIDE;
}

static int token_file_wrong(const char *path, const char *expected, unsigned long long number,
                            const char *found, Error *e) {
    return error_set(e, STATUS_USER, "%s: expected %s, found %llu%s", path, expected, number,
                     found);
}

int token_file_header(TokenHeader *h, const char *path, const unsigned char *bytes, size_t n,
                      uint64_t size, Error *e) {
    uint32_t magic = n < 4 ? 0 : token_file_word(bytes, 0);
    *h = (TokenHeader){ .width = magic == NARROW ? 2 : 4 };
    if (magic != NARROW && magic != WIDE)
        return token_file_wrong(path, "a token file's number, 20240520 or 20240801", magic,
                                magic == TASKS ? ", that of tasks for llm.c's evaluation" : "", e);
    if (n < TOKEN_FILE_HEADER)
        return token_file_wrong(path, "a token file's header of 1024 bytes",
                                (unsigned long long)size, " bytes", e);
    uint32_t version = token_file_word(bytes, 1),
             due = magic == NARROW ? NARROW_VERSION : WIDE_VERSION;
    if (version != due)
        return error_set(e, STATUS_USER,
                         "%s: expected a token file of version %u, found version %u", path, due,
                         version);
    uint64_t count = token_file_word(bytes, 2) | (uint64_t)token_file_word(bytes, 3) << 32,
             room = (size - TOKEN_FILE_HEADER) / (uint64_t)h->width;
    if (!count) return error_set(e, STATUS_USER, "%s: expected tokens, found an empty file", path);
    if (count != room || (size - TOKEN_FILE_HEADER) % (uint64_t)h->width)
        return error_set(e, STATUS_USER,
                         "%s: expected the %llu tokens of its header, %d bytes each, found %llu "
                         "bytes",
                         path, (unsigned long long)count, h->width,
                         (unsigned long long)(size - TOKEN_FILE_HEADER));
    h->count = (int64_t)count;
    memcpy(h->maker, bytes + MAKER, sizeof h->maker);
    return STATUS_OK;
}

static const char ours[16] = "strata tokens";
enum { OURS_AT = TOKEN_FILE_HEADER - sizeof ours };

bool token_file_ours(const unsigned char head[TOKEN_FILE_HEADER]) {
    return token_file_begins(head, TOKEN_FILE_HEADER) && !memcmp(head + OURS_AT, ours, sizeof ours);
}

void token_file_print(const TokenHeader *h, unsigned char to[TOKEN_FILE_HEADER]) {
    memset(to, 0, TOKEN_FILE_HEADER);
    put_word(to, 0, h->width == 2 ? NARROW : WIDE);
    put_word(to, 1, h->width == 2 ? NARROW_VERSION : WIDE_VERSION);
    put_word(to, 2, (uint32_t)h->count);
    put_word(to, 3, (uint32_t)((uint64_t)h->count >> 32));
    memcpy(to + MAKER, h->maker, sizeof h->maker);
    memcpy(to + OURS_AT, ours, sizeof ours);
}
