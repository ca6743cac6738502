/* SPDX-License-Identifier: MIT
** See documents.h. */
#include "documents.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { FIRST = 1 << 16 }; /* bytes of the smallest buffer */

int documents_open(DocumentReader *r, const DataFile *file, const char *field, bool utf8,
                   Error *e) {
    Input in;
    *r = (DocumentReader){ .file = file, .field = field, .utf8 = utf8 };
    int status = data_file_open(file, &in, e);
    if (!status) status = stream_start(&r->in, &in, e);
    if (status || file->kind == DATA_TEXT) return status;
    const Stream stream = r->in;
    r->in = (Stream){ 0 };
    return jsonl_start(&r->lines, &stream, file->kind == DATA_ARRAY, e);
}

void documents_close(DocumentReader *r) {
    stream_close(&r->in);
    free(r->bytes);
    jsonl_close(&r->lines);
    json_free(&r->json);
    *r = (DocumentReader){ 0 };
}

/* Reads on behind what is there, which begins at 0 then, until there is a piece and a byte of the
** next; *last: there is none. */
static int read_on(DocumentReader *r, bool *last, Error *e) {
    size_t most = DOCUMENT_PIECE + 1, got;
    if (r->have && r->from) memmove(r->bytes, r->bytes + r->from, r->have);
    r->from = 0;
    for (*last = false; !*last && r->have < most; r->have += got) {
        size_t room = 2 * r->room < FIRST ? FIRST : 2 * r->room;
        room = room < most ? room : most;
        char *bigger = r->have < r->room ? r->bytes : realloc(r->bytes, room);
        if (!bigger) return error_memory(e, r->file->path, room);
        if (r->have == r->room) r->room = room;
        r->bytes = bigger;
        int status = stream_read(&r->in, r->bytes + r->have, r->room - r->have, &got, e);
        if (status) return status;
        *last = got < r->room - r->have;
    }
    return STATUS_OK;
}

static void documents_give(DocumentReader *r, size_t n) {
    r->from += n;
    r->have -= n;
    r->taken += n;
}

/* == Text ================================================================= */

static bool documents_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Where a piece of these bytes ends if more follow. */
static size_t documents_cut(const char *text, size_t n) {
    for (size_t i = n - 1; i > n / 2; i--)
        if (text[i] == '\n' && documents_is_letter(text[i - 1])) return i;
    for (size_t i = n - 1; i > n / 2; i--)
        if (text[i] == '\n') return i;
    size_t end = n;
    while (end > n - 4 && ((unsigned char)text[end - 1] & 0xc0) == 0x80)
        end--;
    int begins = end ? utf8_begins((const unsigned char *)text + end - 1, (int)(n - end + 1)) : -1;
    return begins == 0 ? end - 1 : n;
}

static int check_utf8(const DocumentReader *r, const char *text, size_t n, Error *e) {
    for (size_t i = 0; i < n;) {
        int32_t point;
        int m = utf8_next(text + i, n - i, &point);
        if (!m)
            return error_set(e, STATUS_USER, "%s:byte %llu%s: expected UTF-8, found byte 0x%02x",
                             r->file->path, (unsigned long long)(r->taken + i),
                             stream_place(&r->in), (unsigned char)text[i]);
        i += (size_t)m;
    }
    return STATUS_OK;
}

static int next_text(DocumentReader *r, DocumentPiece *p, Error *e) {
    bool last;
    int status = read_on(r, &last, e);
    if (status || !r->have) return status;
    const char *text = r->bytes + r->from;
    size_t n = last ? r->have : documents_cut(text, DOCUMENT_PIECE);
    if (r->utf8) status = check_utf8(r, text, n, e);
    *p = (DocumentPiece){ text, n, r->taken == 0, last, r->taken, r->file->path };
    documents_give(r, n);
    return status;
}

/* == JSON lines =========================================================== */

/* The document of the line that was read last. */
static int take_field(DocumentReader *r, DocumentPiece *p, Error *e) {
    const char *place = r->lines.place;
    const JsonNode *root = r->json.node;
    bool texts = r->file->kind == DATA_ARRAY;
    const JsonNode *field = texts && root->type == JSON_STRING
        ? root
        : json_member(&r->json, root, r->field);
    if (field != root && root->type != JSON_OBJECT)
        return error_set(e, STATUS_USER, "%s: expected an object%s, found %s", place,
                         texts ? " or a text" : "", json_kind(root));
    if (!field)
        return error_set(e, STATUS_USER, "%s: expected the field \"%s\" (--field), found none",
                         place, r->field);
    if (field->type != JSON_STRING)
        return error_set(e, STATUS_USER, "%s: expected a string as \"%s\", found %s", place,
                         r->field, json_kind(field));
    *p = (DocumentPiece){ field->text, strlen(field->text), true, true, 0, place };
    return STATUS_OK;
}

/* Documents without text are none. */
static int documents_next_line(DocumentReader *r, DocumentPiece *p, Error *e) {
    bool more = true;
    int status = STATUS_OK;
    while (!status && more && !p->length) {
        status = jsonl_next(&r->lines, &r->json, &more, e);
        if (!status && more) status = take_field(r, p, e);
    }
    return status;
}

int documents_next(DocumentReader *r, DocumentPiece *p, Error *e) {
    *p = (DocumentPiece){ 0 };
    int status = r->file->kind == DATA_TEXT ? next_text(r, p, e) : documents_next_line(r, p, e);
    if (status || !p->length) *p = (DocumentPiece){ 0 };
    return status;
}
