/* SPDX-License-Identifier: MIT
** See fuzz.h. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "random.h"

const char *fuzz_file(const unsigned char *bytes, size_t n) {
    static char path[64]; /* the one file of the process */
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, n, 0) != (ssize_t)n) {
        perror("memfd");
        exit(1);
    }
    return path;
}

size_t fuzz_below(FuzzInput *f, size_t n) {
    return (size_t)random_below(f->seed, f->drawn++, 0, n);
}

static void move(FuzzInput *f, size_t to, size_t from, size_t n) {
    memmove(f->bytes + to, f->bytes + from, n);
}

void fuzz_insert(FuzzInput *f, size_t at, const void *bytes, size_t n) {
    if (f->n + n > FUZZ_ROOM) return;
    move(f, at + n, at, f->n - at);
    memcpy(f->bytes + at, bytes, n);
    f->n += n;
}

void fuzz_erase(FuzzInput *f, size_t at, size_t n) {
    move(f, at, at + n, f->n - at - n);
    f->n -= n;
}

static void insert_word(FuzzInput *f, size_t at) {
    size_t words = 0;
    while (fuzz_words[words])
        words++;
    const char *word = fuzz_words[fuzz_below(f, words)];
    fuzz_insert(f, at, word, strlen(word));
}

void fuzz_mutate(FuzzInput *f) {
    if (!f->n) return;
    /* the beginning is where most decisions are */
    size_t head = f->n < 600 ? f->n : 600, at = fuzz_below(f, fuzz_below(f, 4) ? head : f->n);
    size_t span = 1 + fuzz_below(f, 16);
    unsigned char copy[16];
    if (span > f->n - at) span = f->n - at;
    switch (fuzz_below(f, 7)) {
    case 0: f->bytes[at] ^= (unsigned char)(1u << fuzz_below(f, 8)); break;
    case 1: f->bytes[at] = (unsigned char)fuzz_below(f, 256); break;
    case 2: f->bytes[at] = (unsigned char)('0' + fuzz_below(f, 10)); break;
    case 3: fuzz_erase(f, at, span); break;
    case 4:
        memcpy(copy, f->bytes + at, span);
        fuzz_insert(f, fuzz_below(f, f->n), copy, span);
        break;
    case 5: insert_word(f, at); break;
    default: f->n = at; break;
    }
}

void fuzz_write_seeds(const char *folder) {
    static unsigned char bytes[FUZZ_ROOM];
    size_t n;
    for (size_t k = 0; (n = fuzz_seed(k, bytes)); k++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%zu", folder, k);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) {
            perror(path);
            exit(1);
        }
    }
}
