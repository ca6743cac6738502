/* SPDX-License-Identifier: MIT
** See stream.h. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "text_kind.h"

/* == What it is =========================================================== */

StreamForm stream_form(const unsigned char *b, size_t n) {
    if (n >= 3 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8) return STREAM_GZIP;
    if (n >= 4 && (b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd))
        return STREAM_ZSTD;
    /* a frame to be skipped, which some writers put first */
    bool skipped = n >= 4 && (b[0] & 0xf0) == 0x50 && b[1] == 0x2a && b[2] == 0x4d && b[3] == 0x18;
    return skipped ? STREAM_ZSTD : STREAM_PLAIN;
}

const char *stream_place(const Stream *s) {
    return s->form == STREAM_PLAIN ? "" : " of the expanded text";
}

size_t stream_name(StreamForm form, const char *path) {
    static const char *const ending[] = { ".gz", ".gzip", ".zst", ".zstd" };
    size_t n = strlen(path);
    for (size_t i = 0; form != STREAM_PLAIN && i < sizeof ending / sizeof *ending; i++) {
        size_t m = strlen(ending[i]);
        if (n > m && !strcmp(path + n - m, ending[i])) return n - m;
    }
    return n;
}

/* == The libraries ======================================================== */

static const char *form_name(const Stream *s) {
    return s->form == STREAM_GZIP ? "gzip" : "Zstandard";
}

/* Of what lies at the next byte that would be expanded. */
static int stream_wrong(const Stream *s, const char *found, Error *e) {
    return error_set(e, STATUS_USER, "%s:byte %llu: expected %s data, found %s", s->in.path,
                     (unsigned long long)(s->at - s->have), form_name(s), found);
}

static int start_state(Stream *s, Error *e) {
    if (s->form == STREAM_ZSTD) {
        ZSTD_DStream *z = ZSTD_createDStream();
        s->state = z;
        if (z && !ZSTD_isError(ZSTD_initDStream(z))
            && !ZSTD_isError(ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, STREAM_WINDOW)))
            return STATUS_OK;
    } else {
        z_stream *z = s->state = calloc(1, sizeof *z);
        if (z && inflateInit2(z, 16 + MAX_WBITS) == Z_OK) return STATUS_OK;
        free(z);
        s->state = NULL;
    }
    return error_memory(e, s->in.path, STREAM_PACKED);
}

static void end_state(Stream *s) {
    if (s->state && s->form == STREAM_ZSTD) ZSTD_freeDStream(s->state);
    if (s->state && s->form == STREAM_GZIP) inflateEnd(s->state), free(s->state);
    s->state = NULL;
}

/* Zeros that fill up a last block are none of the data. */
static bool only_zeros(Stream *s) {
    while (s->have && !s->packed[s->from])
        s->from++, s->have--;
    return !s->have;
}

/* Takes what it can of the packed bytes, makes up to 'most'. */
static int inflate_some(Stream *s, unsigned char *to, size_t most, size_t *made, Error *e) {
    z_stream *z = s->state;
    *made = 0;
    bool first = s->at == s->have;
    if (!s->inside && !first && only_zeros(s)) return STATUS_OK;
    if (!s->inside) inflateReset(z);
    s->inside = true;
    z->next_in = s->packed + s->from, z->avail_in = (uInt)s->have;
    z->next_out = to, z->avail_out = (uInt)most;
    int n = inflate(z, Z_NO_FLUSH);
    s->from += s->have - z->avail_in;
    s->have = z->avail_in;
    *made = most - z->avail_out;
    if (n == Z_STREAM_END) s->inside = false;
    if (n == Z_OK || n == Z_BUF_ERROR || n == Z_STREAM_END) return STATUS_OK;
    if (n == Z_MEM_ERROR) return error_memory(e, s->in.path, 1 << MAX_WBITS);
    return stream_wrong(s, z->msg ? z->msg : "something else", e);
}

static int expand_some(Stream *s, unsigned char *to, size_t most, size_t *made, Error *e) {
    ZSTD_inBuffer in = { s->packed + s->from, s->have, 0 };
    ZSTD_outBuffer out = { to, most, 0 };
    size_t n = ZSTD_decompressStream(s->state, &out, &in);
    s->from += in.pos;
    s->have -= in.pos;
    *made = out.pos;
    s->inside = n != 0;
    return ZSTD_isError(n) ? stream_wrong(s, ZSTD_getErrorName(n), e) : STATUS_OK;
}

/* == Reading ============================================================== */

static int refill(Stream *s, Error *e) {
    uint64_t left = (uint64_t)s->in.before.st_size - s->at;
    size_t n = left < STREAM_PACKED ? (size_t)left : STREAM_PACKED;
    s->from = 0;
    int status = input_read(&s->in, s->at, s->packed, n, e);
    if (status) return status;
    s->at += n;
    s->have = n;
    return STATUS_OK;
}

static int check_ratio(const Stream *s, Error *e) {
    uint64_t read = s->at - s->have;
    if (s->made <= STREAM_FREE || s->made / STREAM_RATIO <= read) return STATUS_OK;
    return error_set(e, STATUS_LIMIT,
                     "%s:byte %llu: expected at most %d bytes of text for a byte of %s data, found "
                     "more; expand the file first",
                     s->in.path, (unsigned long long)read, STREAM_RATIO, form_name(s));
}

static int read_packed(Stream *s, unsigned char *to, size_t most, size_t *got, Error *e) {
    int status = STATUS_OK;
    for (*got = 0; !status && *got < most && !s->reached;) {
        size_t made = 0;
        bool more = s->at < (uint64_t)s->in.before.st_size;
        if (!s->have && more) status = refill(s, e);
        size_t had = s->have, room = most - *got < (1u << 30) ? most - *got : (1u << 30);
        if (status) break;
        if (!had && !s->inside) s->reached = true;
        else if (s->form == STREAM_GZIP) status = inflate_some(s, to + *got, room, &made, e);
        else status = expand_some(s, to + *got, room, &made, e);
        *got += made;
        s->made += made;
        if (!status) status = check_ratio(s, e);
        if (!status && !made && !had && s->inside)
            status = stream_wrong(s, "the end of the file", e);
    }
    if (!status && s->reached) status = input_unchanged(&s->in, e);
    return status;
}

static int read_plain(Stream *s, void *to, size_t most, size_t *got, Error *e) {
    uint64_t left = (uint64_t)s->in.before.st_size - s->at;
    *got = left < most ? (size_t)left : most;
    int status = input_read(&s->in, s->at, to, *got, e);
    s->at += *got;
    s->made += *got;
    s->reached = s->at == (uint64_t)s->in.before.st_size;
    if (!status && *got < most) status = input_unchanged(&s->in, e);
    return status;
}

static int read_any(Stream *s, void *to, size_t most, size_t *got, Error *e) {
    return s->form == STREAM_PLAIN ? read_plain(s, to, most, got, e)
                                   : read_packed(s, to, most, got, e);
}

int stream_read(Stream *s, void *to, size_t most, size_t *got, Error *e) {
    size_t first = s->head_have < most ? s->head_have : most;
    if (first) memcpy(to, s->head + s->head_from, first);
    s->head_from += first;
    s->head_have -= first;
    int status = read_any(s, (char *)to + first, most - first, got, e);
    *got += first;
    const char *nul = status ? NULL : memchr(to, 0, *got);
    if (nul)
        status = error_set(e, STATUS_USER,
                           "%s:byte %llu%s: expected text, found a NUL byte, which no text has",
                           s->in.path, (unsigned long long)(s->given + (size_t)(nul - (char *)to)),
                           stream_place(s));
    s->given += *got;
    return status;
}

int stream_head(Stream *s, const unsigned char **head, size_t *n, Error *e) {
    int status = STATUS_OK;
    if (!s->head) {
        s->head = malloc(STREAM_HEAD);
        if (!s->head) return error_memory(e, s->in.path, STREAM_HEAD);
        status = read_any(s, s->head, STREAM_HEAD, &s->head_have, e);
    }
    *head = s->head;
    *n = s->head_have;
    return status;
}

/* == Opening ============================================================== */

static int stream_begin(Stream *s, Error *e) {
    unsigned char first[4];
    uint64_t size = (uint64_t)s->in.before.st_size;
    size_t n = size < sizeof first ? (size_t)size : sizeof first;
    int status = input_read(&s->in, 0, first, n, e);
    if (status) return status;
    s->form = stream_form(first, n);
    if (s->form == STREAM_PLAIN) return STATUS_OK;
    s->packed = malloc(STREAM_PACKED);
    return s->packed ? start_state(s, e) : error_memory(e, s->in.path, STREAM_PACKED);
}

int stream_start(Stream *s, const Input *in, Error *e) {
    *s = (Stream){ .in = *in };
    int status = stream_begin(s, e);
    if (status) stream_close(s);
    return status;
}

int stream_open(Stream *s, const char *path, Error *e) {
    Input in;
    const unsigned char *head;
    size_t n;
    *s = (Stream){ 0 };
    int status = input_open(&in, path, e);
    if (!status) status = stream_start(s, &in, e);
    if (status) return status;
    status = stream_head(s, &head, &n, e);
    if (!status) status = text_kind_check(path, head, n, s->form != STREAM_PLAIN, e);
    if (status) stream_close(s);
    return status;
}

void stream_close(Stream *s) {
    if (s->in.path) input_close(&s->in);
    end_state(s);
    free(s->packed);
    free(s->head);
    *s = (Stream){ 0 };
}
