/* SPDX-License-Identifier: MIT
** The bytes of a file from beginning to end, expanded if it is compressed: gzip by zlib, Zstandard
** by its library, recognised by the first bytes and not by the name.  Members and frames that
** follow each other are one text.  Data that are cut off, damaged or followed by something else
** are an error with the byte of the file; checksums are verified.  To stop a small file from
** expanding without end, more than STREAM_FREE bytes that are also more than STREAM_RATIO times
** the bytes read so far are refused.
*/
#ifndef STRATA_STREAM_H
#define STRATA_STREAM_H

#include "files.h"

typedef enum StreamForm { STREAM_PLAIN, STREAM_GZIP, STREAM_ZSTD } StreamForm;

enum {
    STREAM_FREE = 1 << 30, /* bytes */
    STREAM_RATIO = 200,
    STREAM_WINDOW = 27,    /* Zstandard looks back by 2 to this power bytes at most */
    STREAM_HEAD = 1 << 16, /* bytes of the beginning that can be looked at */
    STREAM_PACKED = 1 << 16
};

typedef struct Stream {
    Input in;
    StreamForm form;
    uint64_t at;   /* bytes of the file that were read */
    uint64_t made; /* bytes that came of them */
    uint64_t given;
    unsigned char *packed; /* read and not expanded: 'have' bytes from 'from' on */
    size_t from, have;
    unsigned char *head; /* expanded and not given: 'head_have' bytes from 'head_from' on */
    size_t head_from, head_have;
    void *state;  /* the library's */
    bool inside;  /* a member or frame that has not ended */
    bool reached; /* the end */
} Stream;

/* Of a file that is open, which becomes the stream's.  On failure nothing stays open. */
int stream_start(Stream *s, const Input *in, Error *e);
/* Of the file PATH; what begins like no text is refused (text_kind.h). */
int stream_open(Stream *s, const char *path, Error *e);
void stream_close(Stream *s); /* harmless on {0} and what was closed */

/* The next 'most' bytes; fewer only at the end, where the file must be as it was opened.  A NUL is
** an error: no text has one. */
int stream_read(Stream *s, void *to, size_t most, size_t *got, Error *e);

/* The text's first bytes, STREAM_HEAD at most, before any was given; they are given later. */
int stream_head(Stream *s, const unsigned char **head, size_t *n, Error *e);

/* "" or " of the expanded text": what the bytes of a message's place are counted in. */
const char *stream_place(const Stream *s);

/* Bytes of a name before ".gz", ".zst" and the like of a compressed file. */
size_t stream_name(StreamForm form, const char *path);

/* How a file begins that is compressed. */
StreamForm stream_form(const unsigned char *bytes, size_t n);

#endif
