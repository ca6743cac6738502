/* SPDX-License-Identifier: MIT
** Text to ids, for tokenizers of files: the steps before there are words.
*/
#include "file_tables.h"

#include <stdlib.h>
#include <string.h>

#include "characters.h"
#include "stray.h"

static int normalized_part(TokenCall *c, const char *text, size_t length, bool first, Error *e) {
    return split(&c->f->splitter, &c->split, text, length, first, e);
}

typedef int PartFn(TokenCall *c, const char *text, size_t length, bool first, Error *e);

/* What a found token takes; false: it is none here.  What is before 'done' is taken: where that is
** behind the token, it is white space that an rstrip took to its end. */
static bool takes(const AddedToken *token, const char *text, size_t length, size_t done,
                  size_t *from, size_t *to) {
    if (token->single_word
        && (characters_word_before(text, *from) || characters_word_after(text, length, *to)))
        return false;
    if (token->lstrip) {
        size_t left = done < *from ? *from - done : 0;
        *from -= left - characters_before_space(text + *from - left, left);
    }
    if (token->rstrip) *to = *to < done ? done : characters_after_space(text, length, *to);
    return true;
}

/* Where the next byte is that one of the texts begins with. */
static size_t skip(const PrefixTree *t, const char *text, size_t length, size_t at) {
    while (at < length && !t->first[(unsigned char)text[at]])
        at++;
    return at;
}

/* Tokens of a set become ids; what is between them goes on. */
static int encode_cut(TokenCall *c, const AddedSet *set, const char *text, size_t length,
                      bool first, PartFn *rest, Error *e) {
    size_t done = 0;
    int status = STATUS_OK;
    for (size_t at = skip(&set->tree, text, length, 0); set->count && at < length && !status;
         at = skip(&set->tree, text, length, at)) {
        int32_t i;
        size_t n = prefix_find(&set->tree, text + at, length - at, &i), from = at, to = at + n;
        at += n ? n : 1;
        if (!n || (c->ids->plain && set->token[i].special)) continue;
        if (!takes(&set->token[i], text, length, done, &from, &to)) continue;
        if (done < from) status = rest(c, text + done, from - done, first && !done, e);
        if (!status) token_ids_add(c->ids, set->token[i].id);
        done = to;
    }
    if (status || done >= length) return status;
    return rest(c, text + done, length - done, first && !done, e);
}

static int raw_part(TokenCall *c, const char *text, size_t length, bool first, Error *e) {
    int status = STATUS_OK;
    c->place.part = (size_t)(text - c->place.text);
    if (c->f->format == FORMAT_PIECES) return token_sentence(c, text, length, first, e);
    if (c->f->normalizer.count)
        status = normalize(&c->f->normalizer, &c->normalize, &c->place, &text, &length, e);
    return status ? status
                  : encode_cut(c, &c->f->normalized, text, length, first, normalized_part, e);
}

static void call_done(TokenCall *c) {
    merge_free(&c->merge);
    normalize_done(&c->normalize);
    split_done(&c->split);
    text_free(&c->pieces);
    text_free(&c->word);
    free(c->cache);
}

static size_t first_bytes(const TokenFile *f, const TokenCall *c, size_t length) {
    size_t n = 0;
    if (!c->ids->count || (c->ids->template && f->before_count) || c->ids->failed) return 0;
    int32_t id = c->ids->width == 1 ? *(uint8_t *)c->ids->at
        : c->ids->width == 2        ? *(uint16_t *)c->ids->at
                                    : *(int32_t *)c->ids->at;
    if (c->ids->room && vocabulary_has(&f->pieces, id))
        vocabulary_text(vocabulary_has(&f->shown, id) ? &f->shown : &f->pieces, id, &n);
    return n < length ? n : length;
}

/* What is no UTF-8 is kept where there are ids of all bytes; else U+FFFD stands for it, which
** SentencePiece's normalizer puts there.  'text' may become the other one. */
static int hide_stray(const Tokenizer *t, TokenCall *c, Text *other, const char **text,
                      size_t *length, Error *e) {
    int64_t stray = stray_count(*text, *length);
    c->ids->stray += stray;
    if (!stray) return STATUS_OK;
    if (t->any_bytes) c->stray = stray_hide(other, *text, *length);
    if (t->any_bytes && !c->stray)
        return error_set(e, STATUS_LIMIT,
                         "%s: expected UTF-8, or a text with fewer of the characters of planes 15 "
                         "and 16, found %lld bytes that are not UTF-8 beside them",
                         c->what, (long long)stray);
    bool made = c->stray
        || (c->f->format != FORMAT_PIECES && characters_mend(other, *text, *length));
    if (!made) return STATUS_OK;
    *text = other->at;
    *length = other->length;
    return text_status(other, e);
}

int token_encode(const Tokenizer *t, const char *what, const char *text, size_t length,
                 TokenIds *ids, Error *e) {
    const TokenFile *f = t->tables;
    TokenCall c = { .f = f, .ids = ids, .what = what };
    Text mended = { 0 };
    bool fresh = ids->count == 0;
    c.split.place = &c.place;
    c.split.user = &c;
    c.split.word = f->bytes ? token_word : token_marks;
    int status = hide_stray(t, &c, &mended, &text, &length, e);
    c.place = (PatternPlace){ what, text, length, ids->before, 0 };
    if (!status) token_cache_open(&c, length);
    for (int i = 0; i < f->before_count && ids->template; i++)
        token_ids_add(ids, f->before[i]);
    if (!status) status = encode_cut(&c, &f->raw, text, length, true, raw_part, e);
    for (int i = 0; i < f->after_count && ids->template && !ids->open; i++)
        token_ids_add(ids, f->after[i]);
    if (!status && fresh) ids->first = first_bytes(f, &c, length);
    call_done(&c);
    text_free(&mended);
    return status;
}
