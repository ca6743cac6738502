/* SPDX-License-Identifier: MIT
** See training_words.h.  A piece ends before a letter that begins a line, if the line before ends
** with a visible character: every pattern ends a word there and begins another one, whatever
** follows.
*/
#include "training_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"
#include "scanner.h"
#include "utf8.h"
#include "vocabulary.h"

enum { PIECE = 4 << 20 };

typedef struct WordReader {
    TrainingText *x;
    WordCounts *words;
    Stream in;
    uint64_t at; /* of the piece, in the text */
    char *piece; /* 'length' bytes that were read and not used */
    size_t room, length;
    int scanner;
    PrefixTree special;
} WordReader;

/* == Words ================================================================ */

static int words_add_words(WordReader *r, const char *text, size_t length, Error *e) {
    for (size_t at = 0, end; at < length; at = end) {
        end = scanner_next(r->scanner, text, length, at);
        if (words_add(r->words, text + at, end - at, 1) < 0)
            return error_memory(e, "training text", r->words->used);
    }
    return STATUS_OK;
}

/* Where a special token begins, the first in the text, of those there the longest; its length in
** *length, 0: there is none. */
static const char *find_special(const WordReader *r, const char *text, size_t n, size_t *length) {
    int32_t ignored;
    *length = 0;
    for (size_t at = 0; r->special.count && at < n; at++)
        if ((*length = prefix_find(&r->special, text + at, n - at, &ignored))) return text + at;
    return text + n;
}

static int words_add_text(WordReader *r, const char *text, size_t n, Error *e) {
    int status = STATUS_OK;
    for (size_t special; n && !status;) {
        const char *at = find_special(r, text, n, &special);
        status = words_add_words(r, text, (size_t)(at - text), e);
        n -= (size_t)(at - text) + special;
        text = at + special;
    }
    return status;
}

/* == Pieces =============================================================== */

static int check_utf8(const WordReader *r, size_t n, Error *e) {
    for (size_t i = 0; i < n;) {
        int32_t point;
        int bytes = utf8_next(r->piece + i, n - i, &point);
        if (!bytes)
            return error_set(e, STATUS_USER, "%s:byte %llu%s: expected UTF-8, found byte 0x%02x",
                             r->in.in.path, (unsigned long long)(r->at + i), stream_place(&r->in),
                             (unsigned char)r->piece[i]);
        i += (size_t)bytes;
    }
    return STATUS_OK;
}

/* Bytes of the piece up to the last such place; 0: there is none. */
static size_t words_cut(const char *piece, size_t n) {
    for (; n > 2; n--)
        if (isgraph((unsigned char)piece[n - 3]) && piece[n - 2] == '\n'
            && isalpha((unsigned char)piece[n - 1]))
            return n - 1;
    return 0;
}

/* Reads on, until there is a place to cut or the text ends; *end: where the piece ends, 0: there is
** none. */
static int read_piece(WordReader *r, size_t *end, Error *e) {
    for (size_t want = PIECE;; want *= 2) {
        size_t got;
        if (want > r->room) {
            char *more = realloc(r->piece, want);
            if (!more) return error_memory(e, r->in.in.path, want);
            r->piece = more, r->room = want;
        }
        if (want <= r->length) continue;
        int status = stream_read(&r->in, r->piece + r->length, want - r->length, &got, e);
        if (status) return status;
        r->length += got;
        *end = r->length < want ? r->length : words_cut(r->piece, want);
        if (*end || r->length < want) return STATUS_OK;
    }
}

static int words_read_text(WordReader *r, const DataFile *file, Error *e) {
    Input in;
    int status = data_file_open(file, &in, e);
    if (!status) status = stream_start(&r->in, &in, e);
    if (status) return status;
    r->at = r->length = 0;
    for (size_t end = 1; end && !status;) {
        status = read_piece(r, &end, e);
        if (!status) status = check_utf8(r, end, e);
        if (!status) status = words_add_text(r, r->piece, end, e);
        if (status) break;
        r->length -= end;
        memmove(r->piece, r->piece + end, r->length);
        r->at += end;
    }
    r->x->bytes += (int64_t)r->at;
    stream_close(&r->in);
    return status;
}

static int read_documents(WordReader *r, const DataFile *file, const char *field, Error *e) {
    DocumentReader d;
    DocumentPiece p = { 0 };
    int status = documents_open(&d, file, field, true, e);
    if (status) return status;
    do {
        status = documents_next(&d, &p, e);
        if (!status && p.text) status = words_add_text(r, p.text, p.length, e);
        r->x->bytes += (int64_t)p.length;
    } while (!status && p.text);
    documents_close(&d);
    return status;
}

static int words_read_file(WordReader *r, const DataFile *file, const char *field, Error *e) {
    if (file->kind == DATA_TEXT) return words_read_text(r, file, e);
    if (file->kind != DATA_TOKENS) return read_documents(r, file, field, e);
    return error_set(e, STATUS_USER, "%s: expected text, found a token file", file->path);
}

int training_words(TrainingText *x, WordCounts *words, Error *e) {
    WordReader r = { .x = x, .words = words, .scanner = scanner_find(x->pattern->regex) };
    const DataWords names = { "FILE", x->file, x->files, x->field ? x->field : "text" };
    DataFiles files;
    if (r.scanner < 0)
        return error_set(e, STATUS_INTERNAL, "pattern %s: expected a scanner for it, found none",
                         x->pattern->name);
    int status = data_files_open(&files, &names, e);
    if (status) return status;
    status = data_files_unweighted(&files, e);
    if (!status)
        status = data_field_used(names.field, "strata tokenizer train: --field",
                                 data_files_fields(&files), e);
    for (int i = 0; i < x->specials && !status; i++)
        status = prefix_add(&r.special, x->special[i], strlen(x->special[i]), i, "--special", e);
    for (int i = 0; i < files.files && !status; i++)
        status = words_read_file(&r, &files.file[i], names.field, e);
    data_files_free(&files);
    prefix_free(&r.special);
    free(r.piece);
    return status;
}
