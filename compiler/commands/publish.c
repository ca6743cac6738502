/* SPDX-License-Identifier: MIT
** Finished files to their places; see publish.h. */
#include "publish.h"

#include "files.h"

#include <string.h>

int publish_check(const char *spec_file, const char *output, const char *header, Error *e) {
    struct stat spec, there;
    int status = output_check(output, false, e);
    if (!status && header) status = output_check(header, false, e);
    if (!status && !stat(spec_file, &spec) && !stat(output, &there) && spec.st_dev == there.st_dev
        && spec.st_ino == there.st_ino)
        status = error_set(e, STATUS_USER, "%s: expected a file to write, found the spec", output);
    return status;
}

/* Copies a file into an output that waits for it; the mode is the file's. */
static int fill(Output *out, const char *from, Error *e) {
    Input in;
    char piece[65536];
    int status = input_open(&in, from, e);
    uint64_t size = status ? 0 : (uint64_t)in.before.st_size;
    for (uint64_t at = 0; !status && at < size;) {
        size_t n = size - at < sizeof piece ? (size_t)(size - at) : sizeof piece;
        status = input_read(&in, at, piece, n, e);
        if (!status) status = output_write(out, piece, n, e);
        at += n;
    }
    if (!status && (in.before.st_mode & 0100)) (void)!fchmod(out->fd, in.before.st_mode & 0777);
    input_close(&in);
    return status;
}

int publish(const char *output, const char *from, const char *header, const char *header_from,
            Error *e) {
    Output a = { .fd = -1, .folder = -1 }, b = a;
    int status = output_open(&a, output, e);
    if (!status && header) status = output_open(&b, header, e);
    if (!status) status = fill(&a, from, e);
    if (!status && header) status = fill(&b, header_from, e);
    if (!status && header) status = output_commit(&b, false, e);
    if (!status) status = output_commit(&a, false, e);
    output_discard(&a);
    output_discard(&b);
    return status;
}

int publish_text(const char *output, const Text *t, Error *e) {
    Output out;
    int status = output_open(&out, output, e);
    if (!status) status = output_write(&out, t->at, t->length, e);
    if (!status) return output_commit(&out, false, e);
    output_discard(&out);
    return status;
}

int publish_copy(const char *from, const char *to, Error *e) {
    enum { PIECE = 1 << 16 };
    char piece[PIECE];
    Input in;
    Output out;
    int status = input_open(&in, from, e);
    if (status) return status;
    status = output_open(&out, to, e);
    if (status) return input_close(&in), status;
    uint64_t size = (uint64_t)in.before.st_size;
    for (uint64_t at = 0; at < size && !status; at += PIECE) {
        size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
        status = input_read(&in, at, piece, n, e);
        if (!status) status = output_write(&out, piece, n, e);
    }
    if (!status) status = input_unchanged(&in, e);
    input_close(&in);
    if (status) return output_discard(&out), status;
    return output_commit(&out, false, e);
}
