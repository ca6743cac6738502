/* SPDX-License-Identifier: MIT
** How data are identified; see data_files.h.
*/
#include "data_files.h"

#include <string.h>

#include "files.h"
#include "hash.h"
#include "json.h"

enum { PIECE = 1 << 16, SAMPLE = 4096, SAMPLES = 64 };

static int add_bytes(Sha256 *sha, const Input *in, uint64_t at, uint64_t end, Error *e) {
    unsigned char bytes[PIECE];
    int status = STATUS_OK;
    for (uint64_t n; !status && at < end; at += n) {
        n = end - at < PIECE ? end - at : PIECE;
        status = input_read(in, at, bytes, (size_t)n, e);
        if (!status) sha256_add(sha, bytes, (size_t)n);
    }
    return status;
}

/* The first bytes, the last, and as many between at equal distances. */
static int add_samples(Sha256 *sha, const Input *in, uint64_t size, Error *e) {
    int status = STATUS_OK;
    if (size <= (SAMPLES + 1) * SAMPLE) return add_bytes(sha, in, 0, size, e);
    uint64_t step = (size - SAMPLE) / SAMPLES;
    for (int i = 0; !status && i <= SAMPLES; i++) {
        uint64_t at = i < SAMPLES ? step * (uint64_t)i : size - SAMPLE;
        status = add_bytes(sha, in, at, at + SAMPLE, e);
    }
    return status;
}

static int add_input(Sha256 *sha, const Input *in, bool whole, Error *e) {
    uint64_t size = (uint64_t)in->before.st_size;
    int status = whole ? add_bytes(sha, in, 0, size, e) : add_samples(sha, in, size, e);
    return status ? status : input_unchanged(in, e);
}

static int identity_add_file(Sha256 *sha, const DataFile *f, bool whole, Error *e) {
    Input in;
    int status = data_file_open(f, &in, e);
    if (status) return status;
    status = add_input(sha, &in, whole, e);
    input_close(&in);
    return status;
}

int file_identify(const char *path, char sha256[65], Error *e) {
    Sha256 sha;
    Input in;
    int status = input_open(&in, path, e);
    if (status) return status;
    bool whole = in.before.st_size <= DATA_WHOLE;
    uint64_t size = whole ? 0 : (uint64_t)in.before.st_size;
    sha256_start(&sha);
    if (!whole) sha256_add(&sha, &size, sizeof size);
    status = add_input(&sha, &in, whole, e);
    sha256_text(&sha, sha256);
    input_close(&in);
    return status;
}

static bool identity_is_plain(const DataFiles *f) {
    for (int i = 0; i < f->files; i++)
        if (f->file[i].kind != DATA_TEXT || f->file[i].form != STREAM_PLAIN) return false;
    return f->word[0].weight == 0;
}

/* A text is what its bytes are. Of several it counts where they end, as an id stands there, and of
** what is no text more. */
static void identity_describe(const DataFiles *f, bool sampled, Text *t) {
    if (!sampled && identity_is_plain(f)) {
        for (int i = 0; i < f->files && f->files > 1; i++)
            text_add(t, "text bytes %llu\n", (unsigned long long)f->file[i].before.st_size);
        return;
    }
    text_add(t, "%s\nfield %s\n", sampled ? "sampled" : "whole", f->field ? f->field : "");
    for (int i = 0; i < f->words; i++) {
        char weight[32];
        text_add(t, "files %d weight %s\n", f->word[i].files,
                 print_double(weight, f->word[i].weight));
    }
    for (int i = 0; i < f->files; i++) {
        const DataFile *file = &f->file[i];
        text_add(t, "kind %d bytes %llu\n", (int)file->kind,
                 (unsigned long long)file->before.st_size);
        if (file->form != STREAM_PLAIN) text_add(t, "compressed %d\n", (int)file->form);
    }
}

int data_files_identify(DataFiles *f, Error *e) {
    Sha256 sha;
    Text t = { 0 };
    uint64_t total = 0;
    int status = STATUS_OK;
    for (int i = 0; i < f->files; i++)
        total += (uint64_t)f->file[i].before.st_size;
    bool whole = total <= DATA_WHOLE;
    sha256_start(&sha);
    for (int i = 0; !status && i < f->files; i++)
        status = identity_add_file(&sha, &f->file[i], whole, e);
    sha256_text(&sha, f->sha256);
    print_text(f->joined, sizeof f->joined, "%s", whole && identity_is_plain(f) ? f->sha256 : "");
    identity_describe(f, !whole, &t);
    if (!status) status = text_status(&t, e);
    if (!status && t.length) {
        sha256_start(&sha);
        sha256_add(&sha, f->sha256, strlen(f->sha256));
        sha256_add(&sha, t.at, t.length);
        sha256_text(&sha, f->sha256);
    }
    text_free(&t);
    return status;
}
