/* SPDX-License-Identifier: MIT
** Words to ids.  A word is merged from its bytes or characters; the ids of short words are
** remembered for the rest of a long text.
*/
#include "file_tables.h"

#include <stdlib.h>
#include <string.h>

#include "characters.h"
#include "stray.h"

enum { CACHE = 1 << 14, CACHED_WORD = 22, CACHE_FROM = 4096, LONGEST_WORD = 1 << 30 };

typedef struct TokenCache {
    uint8_t length, count; /* length 0: nothing */
    char word[CACHED_WORD];
    int32_t id[TOKEN_CACHED];
} TokenCache;

/* Without memory there is none. */
void token_cache_open(TokenCall *c, size_t length) {
    if (length >= CACHE_FROM && !c->f->score) c->cache = calloc(CACHE, sizeof *c->cache);
}

/* == Symbols ============================================================== */

/* Characters that no piece has: ids of their bytes, or the unknown one, together or alone. */
typedef struct Unknown {
    size_t from, length; /* 0: none waits */
} Unknown;

static void words_flush(TokenCall *c, Unknown *u) {
    if (u->length) merge_add(&c->merge, c->f->unknown, (uint32_t)u->from, (uint32_t)u->length);
    u->length = 0;
}

static bool as_bytes(TokenCall *c, const char *text, size_t at, size_t n) {
    const TokenFile *f = c->f;
    if (!f->byte_fallback) return false;
    for (size_t i = 0; i < n; i++)
        if (f->byte_id[(unsigned char)text[at + i]] < 0) return false;
    for (size_t i = 0; i < n; i++)
        merge_add(&c->merge, f->byte_id[(unsigned char)text[at + i]], (uint32_t)(at + i), 1);
    return true;
}

static void words_begin(TokenCall *c, const char *text, size_t length) {
    const TokenFile *f = c->f;
    Unknown u = { 0 };
    int32_t ignored;
    for (size_t at = 0, n; at < length; at += n) {
        n = f->bytes ? 1 : (size_t)character_at(text, length, at, &ignored);
        int32_t id = f->bytes ? f->byte_id[(unsigned char)text[at]]
                              : vocabulary_find(&f->pieces, text + at, n);
        if (id >= 0) {
            words_flush(c, &u);
            merge_add(&c->merge, id, (uint32_t)at, (uint32_t)n);
        } else if (!as_bytes(c, text, at, n) && f->unknown >= 0) {
            if (!f->fuse_unknown) words_flush(c, &u);
            if (!u.length) u.from = at;
            u.length += n;
        }
    }
    words_flush(c, &u);
}

/* SentencePiece's: user-defined pieces stay, and characters may be pieces or not. */
static void begin_sentence(TokenCall *c, const char *text, size_t length) {
    static const unsigned char bytes[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4 };
    for (size_t at = 0, n; at < length; at += n) {
        int32_t id, ignored;
        n = prefix_find(&c->f->user, text + at, length - at, &id);
        bool frozen = n > 0;
        if (!frozen) {
            n = bytes[(unsigned char)text[at] >> 4];
            if (n > length - at) n = length - at;
            if (c->stray) n = (size_t)character_at(text, length, at, &ignored);
            id = vocabulary_find(&c->f->pieces, text + at, n);
        }
        merge_add(&c->merge, id, (uint32_t)at, (uint32_t)n);
        if (!c->merge.failed) c->merge.symbol[c->merge.count - 1].frozen = frozen;
    }
}

/* == Words ================================================================ */

static int merge_word(TokenCall *c, const char *text, size_t length, Error *e) {
    const TokenFile *f = c->f;
    MergeRule rule = { f->rank ? NULL : &f->pairs, &f->pieces, f->rank };
    int32_t whole = f->ignore_merges ? vocabulary_find(&f->pieces, text, length) : -1;
    if (whole >= 0) {
        token_add(c, whole);
        return STATUS_OK;
    }
    c->merge.count = 0;
    if (f->format == FORMAT_PIECES) begin_sentence(c, text, length);
    else words_begin(c, text, length);
    merge_all(&c->merge, &rule, text);
    if (c->merge.failed) return error_memory(e, c->what, length * sizeof(MergeSymbol));
    for (size_t i = 0; i < c->merge.count; i++) {
        const MergeSymbol *s = &c->merge.symbol[i];
        if (f->format == FORMAT_PIECES) token_piece(c, s->id, text + s->from, s->length);
        else token_add(c, s->id);
    }
    return STATUS_OK;
}

/* Its bytes in the place of the characters that stand for them. */
static int show_stray(TokenCall *c, const char **text, size_t *length, Error *e) {
    if (!c->stray) return STATUS_OK;
    text_clear(&c->word);
    if (!stray_show(&c->word, c->stray, *text, *length)) return STATUS_OK;
    *text = c->word.at;
    *length = c->word.length;
    return text_status(&c->word, e);
}

int token_word(void *call, const char *text, size_t length, Error *e) {
    TokenCall *c = call;
    TokenCache *kept = NULL;
    if (length > LONGEST_WORD)
        return error_set(e, STATUS_LIMIT, "%s: expected at most 1 GiB without a place to divide it",
                         c->what);
    int status = c->f->bytes ? show_stray(c, &text, &length, e) : STATUS_OK;
    if (status) return status;
    if (c->cache && length <= CACHED_WORD) {
        kept = &c->cache[vocabulary_hash(text, length) & (CACHE - 1)];
        if (kept->length == length && !memcmp(kept->word, text, length)) {
            for (int i = 0; i < kept->count; i++)
                token_ids_add(c->ids, kept->id[i]);
            return STATUS_OK;
        }
    }
    c->made_count = 0;
    status = merge_word(c, text, length, e);
    if (!kept || status || c->made_count > TOKEN_CACHED) return status;
    kept->length = (uint8_t)length;
    kept->count = (uint8_t)c->made_count;
    memcpy(kept->word, text, length);
    memcpy(kept->id, c->made, sizeof kept->id);
    return STATUS_OK;
}

int token_marks(void *call, const char *text, size_t length, Error *e) {
    TokenCall *c = call;
    int status = show_stray(c, &text, &length, e);
    if (status) return status;
    if (!c->f->mark_splits || c->f->score) {
        c->unknown = false;
        return c->f->score ? token_unigram(c, text, length, e) : token_word(c, text, length, e);
    }
    for (size_t from = 0, at; from < length && !status; from = at) {
        for (at = from; length - at >= MARK_BYTES && !memcmp(text + at, MARK, MARK_BYTES);)
            at += MARK_BYTES;
        const char *next = memmem(text + at, length - at, MARK, MARK_BYTES);
        at = next ? (size_t)(next - text) : length;
        c->unknown = false;
        status = token_word(c, text + from, at - from, e);
    }
    return status;
}
