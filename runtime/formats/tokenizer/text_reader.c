/* SPDX-License-Identifier: MIT
** See text_reader.h. */
#include "text_reader.h"

#include <stdlib.h>
#include <string.h>

#include "file_tables.h"

int text_reader_node(TextReader *r, const Json *j, const JsonNode *node, const char *what,
                     Error *e) {
    r->object = (TextObject){ .j = j, .object = node, .what = what };
    int status = text_object_check(&r->object, e);
    return status ? status : text_added(&r->object, &r->added, &r->count, e);
}

int text_reader_text(TextReader *r, const char *text, size_t size, const char *what, Error *e) {
    if (size > TEXT_OBJECT)
        return error_set(e, STATUS_LIMIT,
                         "%s:" TEXT_MEMBER ": expected at most %d bytes, found %zu", what,
                         TEXT_OBJECT, size);
    int status = json_parse(&r->own, what, text, size, TEXT_VALUES, e);
    return status ? status : text_reader_node(r, &r->own, r->own.node, what, e);
}

void text_reader_close(TextReader *r) {
    json_free(&r->own);
    free(r->added);
    *r = (TextReader){ 0 };
}

int32_t text_reader_ids(const TextReader *r, int32_t ids) {
    for (int i = 0; i < r->count; i++)
        if (r->added[i].id >= ids) ids = (int32_t)r->added[i].id + 1;
    return ids;
}

static bool has_piece(const TokenFile *f, int64_t id, const char *text) {
    size_t n;
    if (id < 0 || !vocabulary_has(&f->pieces, (int32_t)id)) return false;
    const char *there = vocabulary_text(&f->pieces, (int32_t)id, &n);
    return n == strlen(text) && !memcmp(there, text, n);
}

static bool is_added(const AddedSet *s, const char *text) {
    int32_t i;
    return prefix_find(&s->tree, text, strlen(text), &i) == strlen(text);
}

/* A name without an id that no piece has is no token; neither is one whose id is another's. */
static int reader_add(const TextReader *r, Tokenizer *t, const TextAdded *x, Error *e) {
    TokenFile *f = t->tables;
    const char *what = r->object.what;
    size_t n = strlen(x->content);
    int32_t id = has_piece(f, x->id, x->content) ? (int32_t)x->id : tokenizer_find(t, x->content);
    int status = STATUS_OK;
    if (is_added(&f->raw, x->content) || is_added(&f->normalized, x->content)) return STATUS_OK;
    if (id < 0) {
        id = (int32_t)x->id;
        if (id < 0 || vocabulary_has(&f->pieces, id)) return STATUS_OK;
        status = vocabulary_set(&f->pieces, id, x->content, n, false, what, e);
    }
    AddedToken token = { id, x->single_word, x->lstrip, x->rstrip, x->special };
    if (x->special) f->flags[id] |= TOKEN_SPECIAL;
    return status ? status : added_add(&f->raw, &token, x->content, n, what, e);
}

/* SentencePiece's own library takes none of these for text; transformers does. */
static int add_controls(const TextReader *r, Tokenizer *t, Error *e) {
    TokenFile *f = t->tables;
    const int user = f->one_prefix ? TOKEN_USER
                                   : 0; /* the other classes leave those to the model */
    int status = STATUS_OK;
    for (int32_t id = 0; id < f->pieces.ids && !status; id++) {
        size_t n;
        char text[PREFIX_LONGEST + 1];
        if (!(f->flags[id] & (TOKEN_SPECIAL | TOKEN_UNKNOWN | user))) continue;
        const char *piece = vocabulary_text(&f->pieces, id, &n);
        if (n > PREFIX_LONGEST) continue;
        print_text(text, sizeof text, "%.*s", (int)n, piece);
        const TextAdded x = { .id = id, .content = text, .special = !(f->flags[id] & TOKEN_USER) };
        status = reader_add(r, t, &x, e);
    }
    return status;
}

int text_reader_add(const TextReader *r, Tokenizer *t, Error *e) {
    TokenFile *f = t->tables;
    int status = STATUS_OK;
    if (!r->object.object) return STATUS_OK;
    for (int i = 0; i < r->count && !status; i++)
        status = reader_add(r, t, &r->added[i], e);
    if (status || f->format != FORMAT_PIECES) return status;
    f->prefix_once = !text_pieces_begin(&r->object);
    if (!f->score && text_pieces_as_they_are(&r->object)) {
        for (int32_t id = 0; f->rank && id < r->pieces; id++)
            f->rank[id] = (uint32_t)id; /* it merges in the order of ids, not of scores */
        const Charsmap plain = { .dummy_prefix = f->charsmap.dummy_prefix, .escape = true };
        charsmap_free(&f->charsmap);
        f->charsmap = plain;
        f->one_prefix = true;
    }
    return add_controls(r, t, e);
}
