/* SPDX-License-Identifier: MIT
** See training_words.h.  A piece ends before a letter that begins a line, behind a line that ends
** with something to see: there every pattern ends and begins a word, whether the text goes on or
** not.
*/
#include "training_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "scanner.h"
#include "utf8.h"

enum { PIECE = 4 << 20 };

typedef struct WordReader {
    TrainingText *x;
    WordCounts *words;
    Input in;
    uint64_t at; /* of the piece, in the file */
    char *piece;
    size_t room, length;
    int scanner;
} WordReader;

/* == Words ================================================================ */

static int add_words(WordReader *r, const char *text, size_t length, Error *e) {
    for (size_t at = 0, end; at < length; at = end) {
        end = scanner_next(r->scanner, text, length, at);
        if (words_add(r->words, text + at, end - at, 1) < 0)
            return error_memory(e, r->in.path, r->words->used);
    }
    return STATUS_OK;
}

/* Where a special token begins, the first in the text; its length in *length, 0: there is none. */
static const char *find_special(const TrainingText *x, const char *text, size_t n, size_t *length) {
    const char *first = text + n;
    *length = 0;
    for (int i = 0; i < x->specials; i++) {
        size_t own = strlen(x->special[i]);
        const char *at = memmem(text, (size_t)(first - text) + (*length ? own : 0), x->special[i],
                                own);
        if (at && (at < first || own > *length)) first = at, *length = own;
    }
    return first;
}

static int add_text(WordReader *r, const char *text, size_t n, Error *e) {
    int status = STATUS_OK;
    for (size_t special; n && !status;) {
        const char *at = find_special(r->x, text, n, &special);
        status = add_words(r, text, (size_t)(at - text), e);
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
            return error_set(e, STATUS_USER, "%s:byte %llu: expected UTF-8, found byte 0x%02x",
                             r->in.path, (unsigned long long)(r->at + i),
                             (unsigned char)r->piece[i]);
        i += (size_t)bytes;
    }
    return STATUS_OK;
}

/* Bytes of the piece up to the last such place; 0: there is none. */
static size_t cut(const char *piece, size_t n) {
    for (; n > 2; n--)
        if (isgraph((unsigned char)piece[n - 3]) && piece[n - 2] == '\n'
            && isalpha((unsigned char)piece[n - 1]))
            return n - 1;
    return 0;
}

/* Reads on, until there is a place to cut or the file ends; *end: where the piece ends. */
static int read_piece(WordReader *r, uint64_t size, size_t *end, Error *e) {
    uint64_t left = size - r->at;
    for (size_t want = PIECE;; want *= 2) {
        if (want > left) want = (size_t)left;
        if (want > r->room) {
            char *more = realloc(r->piece, want);
            if (!more) return error_memory(e, r->in.path, want);
            r->piece = more, r->room = want;
        }
        int status = input_read(&r->in, r->at + r->length, r->piece + r->length, want - r->length,
                                e);
        if (status) return status;
        r->length = want;
        *end = want == left ? want : cut(r->piece, want);
        if (*end) return STATUS_OK;
    }
}

static int read_file(WordReader *r, Error *e) {
    uint64_t size = (uint64_t)r->in.before.st_size;
    int status = STATUS_OK;
    if (!size)
        return error_set(e, STATUS_USER, "%s: expected text, found an empty file", r->in.path);
    for (size_t end = 0; r->at < size && !status; r->at += end) {
        r->length = 0;
        status = read_piece(r, size, &end, e);
        if (!status) status = check_utf8(r, end, e);
        if (!status) status = add_text(r, r->piece, end, e);
    }
    r->x->bytes += (int64_t)size;
    return status ? status : input_unchanged(&r->in, e);
}

int training_words(TrainingText *x, WordCounts *words, Error *e) {
    WordReader r = { .x = x, .words = words, .scanner = scanner_find(x->pattern->regex) };
    int status = STATUS_OK;
    if (r.scanner < 0)
        return error_set(e, STATUS_INTERNAL, "pattern %s: expected a scanner for it, found none",
                         x->pattern->name);
    for (int i = 0; i < x->files && !status; i++) {
        status = input_open(&r.in, x->file[i], e);
        if (status) break;
        r.at = 0;
        status = read_file(&r, e);
        input_close(&r.in);
    }
    free(r.piece);
    return status;
}
