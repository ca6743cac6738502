/* SPDX-License-Identifier: MIT
** Tokenizers of files: their tables, and ids to text; see file_tables.h. */
#include "file_tables.h"

#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "characters.h"
#include "tokenizer_file.h"

/* == Bytes ================================================================ */

/* GPT-2's table: printable characters of Latin-1 are themselves, the others come from U+0100 on. */
static bool printable(int byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

int32_t byte_character(int byte) {
    int32_t others = 0;
    if (printable(byte)) return byte;
    for (int i = 0; i < byte; i++)
        others += !printable(i);
    return 256 + others;
}

int byte_of_character(int32_t c) {
    if (c < 256) return c >= 0 && printable(c) ? c : -1;
    int32_t others = c - 256; /* 0-32, 127-160, 173 */
    if (others < 33) return others;
    return others < 67 ? 127 + others - 33 : others == 67 ? 173 : -1;
}

int byte_of_piece(const char *text, size_t length) {
    static const char digits[] = "0123456789ABCDEF";
    if (length != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') return -1;
    const char *high = strchr(digits, text[3]), *low = strchr(digits, text[4]);
    if (!text[3] || !text[4] || !high || !low) return -1;
    return (int)(high - digits) * 16 + (int)(low - digits);
}

/* == Tables =============================================================== */

TokenFile *token_file_new(Tokenizer *t, TokenFormat format, const char *what, Error *e) {
    TokenFile *f = calloc(1, sizeof *f);
    *t = (Tokenizer){ .kind = &tokenizer_in_file, .end = -1, .tables = f };
    text_facts_none(&t->facts);
    if (!f) {
        t->kind = NULL;
        error_memory(e, what, sizeof *f);
        return NULL;
    }
    f->format = format;
    f->unknown = -1;
    for (int i = 0; i < 256; i++)
        f->byte_id[i] = -1;
    return f;
}

int token_file_ids(Tokenizer *t, int32_t ids, const char *what, Error *e) {
    TokenFile *f = t->tables;
    int status = vocabulary_open(&f->pieces, ids, what, e);
    if (status) return status;
    t->ids = ids;
    f->flags = calloc((size_t)ids + 1, 1);
    return f->flags ? STATUS_OK : error_memory(e, what, (size_t)ids);
}

int added_add(AddedSet *s, const AddedToken *token, const char *text, size_t length,
              const char *what, Error *e) {
    if (!(s->count & (s->count - 1))) {
        size_t bytes = (size_t)(s->count ? 2 * s->count : 1) * sizeof *s->token;
        AddedToken *bigger = realloc(s->token, bytes);
        if (!bigger) return error_memory(e, what, bytes);
        s->token = bigger;
    }
    s->token[s->count] = *token;
    return prefix_add(&s->tree, text, length, s->count++, what, e);
}

static void free_tables(Tokenizer *t) {
    TokenFile *f = t->tables;
    if (!f) return;
    vocabulary_free(&f->pieces), vocabulary_free(&f->shown), vocabulary_free(&f->begins);
    pairs_free(&f->pairs);
    prefix_free(&f->tree), prefix_free(&f->user);
    prefix_free(&f->raw.tree), prefix_free(&f->normalized.tree);
    free(f->raw.token), free(f->normalized.token);
    free(f->flags), free(f->rank), free(f->score), free(f->before), free(f->after);
    charsmap_free(&f->charsmap);
    normalizer_free(&f->normalizer);
    splitter_free(&f->splitter);
    free(f);
}

/* Does a mark of a space stand behind another character in this piece? */
static bool mark_inside(const char *text, size_t length) {
    size_t at = 0;
    while (length - at >= MARK_BYTES && !memcmp(text + at, MARK, MARK_BYTES))
        at += MARK_BYTES;
    return memmem(text + at, length - at, MARK, MARK_BYTES) != NULL;
}

void token_file_done(Tokenizer *t) {
    TokenFile *f = t->tables;
    t->any_bytes = f->bytes || f->byte_fallback;
    for (int i = 0; i < 256; i++)
        t->any_bytes &= f->byte_id[i] >= 0;
    f->mark_splits = !f->bytes && !f->ignore_merges && !f->score
        && vocabulary_find(&f->pieces, MARK, MARK_BYTES) >= 0;
    for (int32_t i = 0; i < f->pieces.ids && f->mark_splits; i++) {
        size_t length;
        if (!vocabulary_has(&f->pieces, i)) continue;
        const char *text = vocabulary_text(&f->pieces, i, &length);
        bool made = vocabulary_find(&f->pieces, text, length) == i;
        if (made && mark_inside(text, length)) f->mark_splits = false;
    }
}

/* == Ids to text ========================================================== */

static const char *tables_text_of(const TokenFile *f, const Vocabulary *v, int32_t id,
                                  size_t *length) {
    return vocabulary_text(vocabulary_has(v, id) ? v : &f->pieces, id, length);
}

/* SentencePiece: is this the first piece of a text? */
static bool at_start(Decoder *d) {
    if (d->seen) d->begun = true;
    return !d->begun;
}

static const char *start_of_pieces(const TokenFile *f, int32_t id, Decoder *d, const char *text,
                                   size_t *length) {
    bool starts = at_start(d);
    size_t n;
    d->seen = false;
    const char *piece = vocabulary_text(&f->pieces, id, &n);
    bool shown = !(f->flags[id] & (TOKEN_SPECIAL | TOKEN_UNKNOWN | TOKEN_BYTE));
    if (starts && shown && n >= MARK_BYTES && !memcmp(piece, MARK, MARK_BYTES)) {
        d->seen = f->start == START_PIECES;
        text++;
        --*length;
    }
    if (*length) d->begun = true;
    return text;
}

static const char *begin_text(const TokenFile *f, int32_t id, Decoder *d, const char *text,
                              size_t *length) {
    switch (f->start) {
    case START_AS_IS: return text;
    case START_STRIP:
        if (!*length || d->begun) return text;
        d->begun = true;
        if (*text != ' ') return text;
        --*length;
        return text + 1;
    case START_MARKS:
        if (!d->begun) text = tables_text_of(f, &f->begins, id, length);
        d->begun = true;
        return text;
    default: return start_of_pieces(f, id, d, text, length);
    }
}

static int tables_decode(const Tokenizer *t, int32_t id, Decoder *d, const char **text) {
    const TokenFile *f = t->tables;
    size_t length = 0;
    if (!vocabulary_has(&f->pieces, id)) return -1;
    bool hidden = f->flags[id] & TOKEN_SPECIAL && !d->specials;
    if (hidden && f->format != FORMAT_PIECES) return 0;
    *text = hidden ? "" : tables_text_of(f, &f->shown, id, &length);
    *text = begin_text(f, id, d, *text, &length);
    return (int)length;
}

static int byte_of(const Tokenizer *t, int32_t id) {
    const TokenFile *f = t->tables;
    size_t length;
    if (f->format != FORMAT_JSON || !vocabulary_has(&f->pieces, id)) return -1;
    if (!(f->flags[id] & TOKEN_BYTE)) return -1;
    return (unsigned char)*vocabulary_text(&f->shown, id, &length);
}

/* == Names ================================================================ */

static bool exactly(const AddedSet *s, const char *piece, size_t length, int32_t *id) {
    int32_t i;
    if (prefix_find(&s->tree, piece, length, &i) != length) return false;
    *id = s->token[i].id;
    return true;
}

/* In byte-level files a piece is spelled by the characters of its bytes. */
static int32_t tables_find(const Tokenizer *t, const char *piece, size_t length) {
    const TokenFile *f = t->tables;
    int32_t id, c;
    Text bytes = { 0 };
    if (exactly(&f->raw, piece, length, &id) || exactly(&f->normalized, piece, length, &id))
        return id;
    if (!f->bytes || f->format != FORMAT_JSON) {
        for (id = 0; id < f->pieces.ids; id++) { /* those too that no text becomes */
            size_t n;
            if (!vocabulary_has(&f->pieces, id)) continue;
            const char *text = vocabulary_text(&f->pieces, id, &n);
            if (n == length && !memcmp(text, piece, n)) return id;
        }
        return -1;
    }
    for (size_t i = 0; i < length;) {
        i += (size_t)character_at(piece, length, i, &c);
        char byte = (char)byte_of_character(c);
        if (byte_of_character(c) >= 0) text_bytes(&bytes, &byte, 1);
    }
    id = bytes.length ? vocabulary_find(&f->pieces, bytes.at, bytes.length) : -1;
    text_free(&bytes);
    return id;
}

const char *tokenizer_described(const Tokenizer *t) {
    const TokenFile *f = t->tables;
    return t->kind == &tokenizer_in_file ? f->described : t->kind->name;
}

const TokenizerKind tokenizer_in_file = { .name = "file",
                                          .free = free_tables,
                                          .encode = token_encode,
                                          .decode = tables_decode,
                                          .byte = byte_of,
                                          .find = tables_find };
