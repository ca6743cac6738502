/* SPDX-License-Identifier: MIT
** Finished files to their places; see publish.h. */
#include "publish.h"

static int publish_copy(Output *out, const char *from, Error *e) {
    Input in;
    char piece[65536];
    int status = input_open(&in, from, e);
    if (status) return status;
    uint64_t size = (uint64_t)in.before.st_size;
    for (uint64_t at = 0; !status && at < size;) {
        size_t n = size - at < sizeof piece ? (size_t)(size - at) : sizeof piece;
        status = input_read(&in, at, piece, n, e);
        if (!status) status = output_write(out, piece, n, e);
        at += n;
    }
    if (!status) status = input_unchanged(&in, e);
    input_close(&in);
    return status;
}

/* The mode is the file's. */
static int publish_fill(Output *out, const char *from, Error *e) {
    struct stat is;
    int status = publish_copy(out, from, e);
    if (!status && out->folder >= 0 && !stat(from, &is) && (is.st_mode & 0100))
        (void)!fchmod(out->fd, is.st_mode & 0777);
    return status;
}

int publish(const char *output, const char *from, const char *header, const char *header_from,
            Error *e) {
    Output a = { .fd = -1, .folder = -1 }, b = a;
    int status = output_open(&a, output, e);
    if (!status && header) status = output_open(&b, header, e);
    if (!status) status = publish_fill(&a, from, e);
    if (!status && header) status = publish_fill(&b, header_from, e);
    output_hold();
    if (!status && header) status = output_commit(&b, false, e);
    if (!status) status = output_commit(&a, false, e);
    output_release();
    output_discard(&a);
    output_discard(&b);
    return status;
}

int publish_own(const char *path, const Text *t, Error *e) {
    Output out;
    int status = output_open(&out, path, e);
    if (!status) status = output_write(&out, t->at, t->length, e);
    if (!status) return output_commit(&out, false, e);
    output_discard(&out);
    return status;
}

int publish_text(const FilePlace *to, const Text *t, Error *e) {
    int status = place_check(to, e);
    return status ? status : publish_own(to->path, t, e);
}
