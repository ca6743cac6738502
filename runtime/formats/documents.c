/* SPDX-License-Identifier: MIT
** See documents.h. */
#include "documents.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { BLOCK = 1 << 20 }; /* bytes read at once */

int documents_open(DocumentReader *r, const DataFile *file, const char *field, bool utf8,
                   Error *e) {
    *r = (DocumentReader){ .file = file, .field = field, .utf8 = utf8, .in.fd = -1 };
    int status = data_file_open(file, &r->in, e);
    if (status || file->kind != DATA_JSONL) return status;
    const Input in = r->in;
    r->in.fd = -1;
    return jsonl_start(&r->lines, &in, e);
}

void documents_close(DocumentReader *r) {
    if (r->file && r->in.fd >= 0) input_close(&r->in);
    free(r->bytes);
    jsonl_close(&r->lines);
    json_free(&r->json);
    *r = (DocumentReader){ 0 };
}

static uint64_t size_of(const DocumentReader *r) { return (uint64_t)r->file->before.st_size; }

/* Reads on behind what is there, which begins at 0 then; *more: something came. */
static int read_on(DocumentReader *r, size_t most, bool *more, Error *e) {
    uint64_t left = size_of(r) - r->at;
    size_t now = left < BLOCK ? (size_t)left : BLOCK;
    *more = now > 0;
    if (!now) return input_unchanged(&r->in, e);
    if (r->have && r->from) memmove(r->bytes, r->bytes + r->from, r->have);
    r->from = 0;
    if (now > most - r->have) now = most - r->have;
    if (r->have + now > r->room) {
        size_t room = 2 * r->room > r->have + now ? 2 * r->room : r->have + now;
        char *bigger = realloc(r->bytes, room);
        if (!bigger) return error_memory(e, r->file->path, room);
        r->bytes = bigger;
        r->room = room;
    }
    int status = input_read(&r->in, r->at, r->bytes + r->have, now, e);
    r->have += now;
    r->at += now;
    return status;
}

static void give(DocumentReader *r, size_t n) {
    r->from += n;
    r->have -= n;
    r->taken += n;
}

/* == Text ================================================================= */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Where a piece of these bytes ends if more follow. */
static size_t cut(const char *text, size_t n) {
    for (size_t i = n - 1; i > n / 2; i--)
        if (text[i] == '\n' && is_letter(text[i - 1])) return i;
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
            return error_set(e, STATUS_USER, "%s:byte %llu: expected UTF-8, found byte 0x%02x",
                             r->file->path, (unsigned long long)(r->taken + i),
                             (unsigned char)text[i]);
        i += (size_t)m;
    }
    return STATUS_OK;
}

static int next_text(DocumentReader *r, DocumentPiece *p, Error *e) {
    bool more = true;
    int status = STATUS_OK;
    while (!status && more && r->have < DOCUMENT_PIECE)
        status = read_on(r, DOCUMENT_PIECE, &more, e);
    if (status || !r->have) return status;
    const char *text = r->bytes + r->from;
    bool last = r->at == size_of(r);
    size_t n = last ? r->have : cut(text, r->have);
    if (r->utf8) status = check_utf8(r, text, n, e);
    *p = (DocumentPiece){ text, n, r->taken == 0, last };
    give(r, n);
    return status;
}

/* == JSON lines =========================================================== */

/* The document of the line that was read last. */
static int take_field(DocumentReader *r, DocumentPiece *p, Error *e) {
    const char *place = r->lines.place;
    const JsonNode *root = r->json.node, *field = json_member(&r->json, root, r->field);
    if (root->type != JSON_OBJECT)
        return error_set(e, STATUS_USER, "%s: expected an object, found %s", place,
                         json_kind(root));
    if (!field)
        return error_set(e, STATUS_USER, "%s: expected the field \"%s\" (--field), found none",
                         place, r->field);
    if (field->type != JSON_STRING)
        return error_set(e, STATUS_USER, "%s: expected a string as \"%s\", found %s", place,
                         r->field, json_kind(field));
    *p = (DocumentPiece){ field->text, strlen(field->text), true, true };
    return STATUS_OK;
}

/* Documents without text are none. */
static int next_line(DocumentReader *r, DocumentPiece *p, Error *e) {
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
    int status = r->file->kind == DATA_JSONL ? next_line(r, p, e) : next_text(r, p, e);
    if (status || !p->length) *p = (DocumentPiece){ 0 };
    return status;
}
