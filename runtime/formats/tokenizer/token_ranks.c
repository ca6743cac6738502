/* SPDX-License-Identifier: MIT
** .tiktoken files: pieces in base64, each with its rank, which is its id.  Two neighbours
** merge if their bytes together are a piece; of all such pairs of pieces a table is made.
*/
#include "file_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "scanner.h"
#include "text_reader.h"
#include "tokenizer_file.h"

typedef struct TiktokenKnown {
    const char *name, *pattern;
    int32_t ranks;
    struct {
        int32_t id;
        const char *text;
    } special[8]; /* until a text is NULL */
} TiktokenKnown;

#define SPECIAL(id, text) { id, text },
#define TIKTOKEN(name, ranks, pattern, specials) { #name, pattern, ranks, { specials } },
static const TiktokenKnown ranks_known[] = {
#include "tiktoken_known.def"
};
#undef TIKTOKEN

typedef struct RankReader {
    Tokenizer *t;
    TokenFile *f;
    const char *what;
    int64_t line;
    TextReader text; /* the object of text_facts.h */
    Error *e;
} RankReader;

/* == Lines ================================================================ */

enum { LINE_PIECE = 512 }; /* bytes of a piece: all its divisions are looked at */

typedef struct RankLine {
    char piece[LINE_PIECE + 3];
    size_t length;
    int64_t rank;
} RankLine;

static bool decode_piece(RankLine *l, const char *text, size_t length) {
    l->length = 0;
    if (!length || length / 4 * 3 > LINE_PIECE) return false;
    return base64_decode(text, length, l->piece, &l->length);
}

static bool read_line(RankLine *l, const char *text, size_t length) {
    const char *space = memchr(text, ' ', length);
    if (!space || !decode_piece(l, text, (size_t)(space - text))) return false;
    size_t digits = length - (size_t)(space + 1 - text);
    l->rank = 0;
    if (!digits || digits > 9) return false;
    for (size_t i = 1; i <= digits; i++) {
        if (space[i] < '0' || space[i] > '9') return false;
        l->rank = 10 * l->rank + space[i] - '0';
    }
    return true;
}

typedef int LineFn(RankReader *r, const RankLine *l, void *user);

static int each_line(RankReader *r, const char *bytes, size_t length, LineFn *fn, void *user) {
    const char *end = bytes + length;
    int status = STATUS_OK;
    RankLine l;
    for (r->line = 1; bytes < end && !status; r->line++) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        if (!stop) stop = end;
        size_t n = (size_t)(stop - bytes);
        if (n && bytes[n - 1] == '\r') n--;
        if (n && !read_line(&l, bytes, n))
            return error_set(r->e, STATUS_USER,
                             "%s:line %lld: expected a piece of at most %d bytes in base64, a "
                             "space and its rank, found '%.*s'",
                             r->what, (long long)r->line, LINE_PIECE, n < 80 ? (int)n : 80, bytes);
        if (n) status = fn(r, &l, user);
        bytes = stop < end ? stop + 1 : end;
    }
    return status;
}

/* == Pieces =============================================================== */

typedef struct RankCount {
    int64_t lines, most;
} RankCount;

static int count_line(RankReader *r, const RankLine *l, void *user) {
    RankCount *c = user;
    (void)r;
    c->lines++;
    if (l->rank > c->most) c->most = l->rank;
    return STATUS_OK;
}

static int twice(const RankReader *r, const char *expected, int64_t rank) {
    return error_set(r->e, STATUS_USER, "%s:line %lld: expected %s, found one of rank %lld before",
                     r->what, (long long)r->line, expected, (long long)rank);
}

static int set_line(RankReader *r, const RankLine *l, void *user) {
    const Vocabulary *v = &r->f->pieces;
    const int32_t there = vocabulary_find(v, l->piece, l->length);
    (void)user;
    if (vocabulary_has(v, (int32_t)l->rank)) return twice(r, "one piece of each rank", l->rank);
    if (there >= 0) return twice(r, "each piece once", there);
    if (l->length == 1) r->f->byte_id[(unsigned char)*l->piece] = (int32_t)l->rank;
    return vocabulary_set(&r->f->pieces, (int32_t)l->rank, l->piece, l->length, true, r->what,
                          r->e);
}

/* Every pair of pieces that makes this one. */
static int pair_line(RankReader *r, const RankLine *l, void *user) {
    const Vocabulary *v = &r->f->pieces;
    int status = STATUS_OK;
    (void)user;
    for (size_t i = 1; i < l->length && !status; i++) {
        int32_t a = vocabulary_find(v, l->piece, i),
                b = a < 0 ? -1 : vocabulary_find(v, l->piece + i, l->length - i);
        if (b < 0) continue;
        status = pairs_set(&r->f->pairs, pair_key(a, b), (uint32_t)l->rank, (int32_t)l->rank,
                           r->what, r->e);
    }
    return status;
}

static int add_special(RankReader *r, int32_t id, const char *text) {
    AddedToken token = { .id = id, .special = true };
    int status = vocabulary_set(&r->f->pieces, id, text, strlen(text), false, r->what, r->e);
    if (status) return status;
    r->f->flags[id] = TOKEN_SPECIAL;
    return added_add(&r->f->raw, &token, text, strlen(text), r->what, r->e);
}

static int add_specials(RankReader *r, const TiktokenKnown *k, const TiktokenExtra *x,
                        int64_t first) {
    int status = STATUS_OK;
    for (int i = 0; x && x->specials && i < x->count && !status; i++)
        status = add_special(r, (int32_t)first + i, x->specials[i]);
    if (x && x->specials) return status;
    for (int i = 0; k && i < 8 && k->special[i].text && !status; i++)
        status = add_special(r, k->special[i].id, k->special[i].text);
    return status;
}

/* == The pattern ========================================================== */

static int set_pattern(RankReader *r, const TiktokenKnown *k, const TiktokenExtra *x) {
    const char *pattern = x && x->pattern ? x->pattern : k->pattern;
    SplitStep *s = &r->f->splitter.step[r->f->splitter.count++];
    *s = (SplitStep){ .kind = SPLIT_SCANNED, .behavior = SPLIT_ISOLATED };
    s->scanner = scanner_find(pattern);
    if (s->scanner >= 0) return STATUS_OK;
    s->kind = SPLIT_PATTERN;
    s->behavior = SPLIT_REMOVED; /* what is between matches is no text of a word */
    s->invert = true;
    char what[1024];
    print_text(what, sizeof what, "%s:pattern", r->what);
    return pattern_open(&s->pattern, pattern, PATTERN_RUST, what, r->e);
}

static int unknown_size(RankReader *r, int64_t lines) {
    Text names = { 0 };
    for (size_t i = 0; i < sizeof ranks_known / sizeof *ranks_known; i++)
        text_add(&names, "%s%d (%s)", i ? ", " : "", ranks_known[i].ranks, ranks_known[i].name);
    int status = text_status(&names, r->e);
    if (!status)
        status =
            error_set(r->e, STATUS_USER,
                      "%s: expected as many ranks as a known vocabulary has, %s, or a pattern, "
                      "found %lld",
                      r->what, names.at, (long long)lines);
    text_free(&names);
    return status;
}

static int read_ranks(RankReader *r, const char *bytes, size_t length, const TiktokenExtra *x) {
    RankCount c = { 0, -1 };
    const TiktokenKnown *k = NULL;
    int status = each_line(r, bytes, length, count_line, &c);
    if (status) return status;
    for (size_t i = 0; i < sizeof ranks_known / sizeof *ranks_known; i++)
        if (ranks_known[i].ranks == c.lines) k = &ranks_known[i];
    if (!k && !(x && x->pattern)) return unknown_size(r, c.lines);
    int64_t ids = c.most + 1;
    for (int i = 0; k && i < 8 && k->special[i].text && !(x && x->specials); i++)
        if (k->special[i].id >= ids) ids = k->special[i].id + 1;
    if (x && x->specials) ids += x->count;
    if (ids > VOCABULARY_IDS)
        return error_set(r->e, STATUS_LIMIT, "%s: expected ranks below %d, found %lld", r->what,
                         VOCABULARY_IDS, (long long)c.most);
    ids = text_reader_ids(&r->text, (int32_t)ids);
    status = token_file_ids(r->t, (int32_t)ids, r->what, r->e);
    if (!status) status = each_line(r, bytes, length, set_line, NULL);
    if (!status) status = each_line(r, bytes, length, pair_line, NULL);
    if (!status) status = add_specials(r, k, x, c.most + 1);
    return status ? status : set_pattern(r, k, x);
}

/* The last line may be an object. */
static int ranks_read_all(RankReader *r, const char *bytes, size_t length, const TiktokenExtra *x) {
    size_t from = length, to = length, skip = sizeof TEXT_MEMBER;
    int status = STATUS_OK;
    r->text.object.what = r->what;
    if (text_object_span(bytes, length, &from, &to))
        status = text_reader_text(&r->text, bytes + from + skip, to - from - skip, r->what, r->e);
    if (!status) status = read_ranks(r, bytes, from, x);
    if (!status) status = text_reader_add(&r->text, r->t, r->e);
    if (!status) status = text_facts_read(r->t, &r->text.object, r->e);
    text_reader_close(&r->text);
    return status;
}

int tokenizer_parse_tiktoken(Tokenizer *t, const char *what, const char *bytes, size_t length,
                             const TiktokenExtra *extra, Error *e) {
    RankReader r = { .t = t, .what = what, .e = e };
    r.f = token_file_new(t, FORMAT_RANKS, what, e);
    if (!r.f) return STATUS_LIMIT;
    r.f->bytes = r.f->ignore_merges = true;
    r.f->described = "tiktoken, byte-level BPE";
    int status = ranks_read_all(&r, bytes, length, extra);
    for (int i = 0; i < 256 && !status; i++)
        if (r.f->byte_id[i] < 0)
            status = error_set(e, STATUS_USER, "%s: expected each byte as a piece, found no %d",
                               what, i);
    if (status) tokenizer_free(t);
    else token_file_done(t);
    return status;
}
