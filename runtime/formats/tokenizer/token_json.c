/* SPDX-License-Identifier: MIT
** tokenizer.json: the file as a whole, its model and its added tokens. */
#include "token_json.h"

#include <stdlib.h>
#include <string.h>

#include "characters.h"

enum { JSON_VALUES = 1 << 24 };

/* == Pieces =============================================================== */

/* What words have of a piece; *found: words can. */
static void as_in_words(const TokenJson *r, Text *out, const char *spelled, bool *found) {
    text_clear(out);
    text_bytes(out, "", 0);
    *found = true;
    if (r->f->bytes && token_json_bytes(out, spelled)) return;
    text_clear(out);
    *found = !r->f->bytes;
    text_bytes(out, spelled, strlen(spelled));
}

/* One more than the largest id of the vocabulary and of the added tokens. */
static int count_ids(const TokenJson *r, const JsonNode *vocab, const JsonNode *added,
                     int32_t *count) {
    int32_t id;
    int status = STATUS_OK;
    *count = 0;
    for (const JsonNode *c = json_first(r->j, vocab); c && !status; c = json_next(r->j, c)) {
        status = token_json_id(r, c, &id);
        if (!status && id >= *count) *count = id + 1;
    }
    if (!status) status = token_json_added_ids(r, added, count);
    if (!status && !*count) status = token_json_wrong(r, vocab, "pieces");
    return status;
}

/* The piece that has the id of n is in front of it. */
static int same_id(const TokenJson *r, const JsonNode *vocab, const JsonNode *n) {
    char found[TOKEN_JSON_STRING + 64];
    const JsonNode *c = json_first(r->j, vocab);
    while (c != n && strcmp(c->text, n->text) != 0)
        c = json_next(r->j, c);
    print_text(found, sizeof found, "%s, that of \"%.*s\"", n->text, TOKEN_JSON_STRING, c->key);
    return token_json_found(r, n, "an id of its own", found);
}

static int token_json_add_pieces(const TokenJson *r, const JsonNode *vocab) {
    Text piece = { 0 };
    int status = STATUS_OK;
    for (const JsonNode *c = json_first(r->j, vocab); c && !status; c = json_next(r->j, c)) {
        int32_t id;
        bool found;
        status = token_json_id(r, c, &id);
        as_in_words(r, &piece, c->key, &found);
        if (!status) status = text_status(&piece, r->e);
        if (!status && vocabulary_has(&r->f->pieces, id)) status = same_id(r, vocab, c);
        if (!status)
            status = vocabulary_set(&r->f->pieces, id, piece.at, piece.length,
                                    found && piece.length, r->what, r->e);
    }
    text_free(&piece);
    return status;
}

/* == Merges =============================================================== */

/* The two strings of a merge, "a b" or ["a", "b"]; the first is copied to 'a'. */
static bool sides(const TokenJson *r, const JsonNode *n, Text *a, const char **b) {
    text_clear(a);
    if (n->type == JSON_STRING) {
        const char *space = strchr(n->text, ' ');
        if (!space || strchr(space + 1, ' ')) return false;
        text_bytes(a, n->text, (size_t)(space - n->text));
        *b = space + 1;
        return true;
    }
    const JsonNode *first = n->type == JSON_ARRAY && n->count == 2 ? json_first(r->j, n) : NULL,
                   *second = first ? json_next(r->j, first) : NULL;
    if (!second || first->type != JSON_STRING || second->type != JSON_STRING) return false;
    text_bytes(a, first->text, strlen(first->text));
    *b = second->text;
    return true;
}

/* A side, or what the two make, is no piece of the vocabulary; as the file spells it. */
static int no_piece(const TokenJson *r, const JsonNode *n, int which, const char *a,
                    const char *b) {
    Text found = { 0 };
    text_add(&found, "\"%s%s\"", which == 1 ? "" : a, which == 0 ? "" : b);
    int status = text_status(&found, r->e);
    if (!status) status = token_json_found(r, n, "pieces of the vocabulary", found.at);
    text_free(&found);
    return status;
}

static int add_merge(const TokenJson *r, const JsonNode *n, uint32_t rank, Text text[4]) {
    const Vocabulary *v = &r->f->pieces;
    const char *b;
    bool found[2];
    int32_t id[3];
    if (!sides(r, n, &text[3], &b)) return token_json_wrong(r, n, "two pieces");
    if (text[3].failed) return text_status(&text[3], r->e);
    as_in_words(r, &text[0], text[3].at, &found[0]);
    as_in_words(r, &text[1], b, &found[1]);
    if (!found[0] || !found[1]) return STATUS_OK; /* no byte-level word has such characters */
    text_clear(&text[2]);
    text_bytes(&text[2], text[0].at, text[0].length);
    text_bytes(&text[2], text[1].at, text[1].length);
    for (int i = 0; i < 3; i++) {
        if (text[i].failed) return text_status(&text[i], r->e);
        id[i] = vocabulary_find(v, text[i].at, text[i].length);
        if (id[i] < 0) return no_piece(r, n, i, text[3].at, b);
    }
    return pairs_set(&r->f->pairs, pair_key(id[0], id[1]), rank, id[2], r->what, r->e);
}

static int token_json_add_merges(const TokenJson *r, const JsonNode *model) {
    const JsonNode *merges = NULL;
    Text text[4] = { 0 };
    uint32_t rank = 0;
    int status = token_json_list(r, model, "merges", &merges);
    const JsonNode *c = status ? NULL : json_first(r->j, merges);
    for (; c && !status; c = json_next(r->j, c))
        status = add_merge(r, c, rank++, text);
    for (int i = 0; i < 4; i++)
        text_free(&text[i]);
    return status;
}

/* == The model ============================================================ */

static int empty_string(const TokenJson *r, const JsonNode *model, const char *key) {
    const char *text;
    int status = token_json_string(r, model, key, TOKEN_JSON_STRING, &text);
    if (status || !text || !*text) return status;
    return token_json_lacks(r, model, key, "none");
}

static int read_unknown(const TokenJson *r, const JsonNode *model) {
    const char *unknown;
    Text piece = { 0 };
    bool found;
    int status = token_json_string(r, model, "unk_token", TOKEN_JSON_STRING, &unknown);
    if (status || !unknown) return status;
    as_in_words(r, &piece, unknown, &found);
    r->f->unknown = piece.at && found ? vocabulary_find(&r->f->pieces, piece.at, piece.length) : -1;
    text_free(&piece);
    if (r->f->unknown >= 0) return STATUS_OK;
    return token_json_lacks(r, model, "unk_token", "a piece of the vocabulary");
}

static int read_flags(const TokenJson *r, const JsonNode *model) {
    TokenFile *f = r->f;
    double dropout = 0;
    const JsonNode *n = json_member(r->j, model, "dropout");
    int status = token_json_only(r, model,
                                 "type dropout unk_token continuing_subword_prefix "
                                 "end_of_word_suffix fuse_unk byte_fallback ignore_merges vocab "
                                 "merges");
    if (!status && n && n->type != JSON_NULL && (!json_double(n, &dropout) || dropout != 0))
        status = token_json_wrong(r, n, "none");
    if (!status) status = empty_string(r, model, "continuing_subword_prefix");
    if (!status) status = empty_string(r, model, "end_of_word_suffix");
    if (!status) status = token_json_bool(r, model, "fuse_unk", &f->fuse_unknown);
    if (!status) status = token_json_bool(r, model, "byte_fallback", &f->byte_fallback);
    if (!status) status = token_json_bool(r, model, "ignore_merges", &f->ignore_merges);
    if (!status && f->byte_fallback && f->bytes)
        status = token_json_lacks(r, model, "byte_fallback", "false beside ByteLevel");
    return status;
}

static void find_bytes(TokenFile *f) {
    for (int i = 0; i < 256; i++) {
        char one = (char)i, spelled[8];
        int n = print_text(spelled, sizeof spelled, "<0x%02X>", (unsigned)i);
        if (f->bytes) f->byte_id[i] = vocabulary_find(&f->pieces, &one, 1);
        else if (f->byte_fallback) f->byte_id[i] = vocabulary_find(&f->pieces, spelled, (size_t)n);
    }
}

static int read_model(TokenJson *r, const JsonNode *model, const JsonNode *added) {
    const JsonNode *type = model ? json_member(r->j, model, "type") : NULL,
                   *vocab = model ? json_member(r->j, model, "vocab") : NULL;
    int32_t ids = 0;
    if (!model || model->type != JSON_OBJECT)
        return token_json_lacks(r, r->j->node, "model", "an object");
    if (type && token_json_is(r, model, "Unigram")) return token_json_unigram(r, model, added);
    if (type && !token_json_is(r, model, "BPE")) return token_json_unknown(r, model);
    if (!vocab || vocab->type != JSON_OBJECT) return token_json_lacks(r, model, "vocab", "pieces");
    int status = read_flags(r, model);
    if (!status) status = count_ids(r, vocab, added, &ids);
    if (!status) ids = text_reader_ids(&r->text, ids);
    if (!status) status = token_file_ids(r->t, ids, r->what, r->e);
    if (!status) status = token_json_add_pieces(r, vocab);
    if (!status) status = token_json_add_merges(r, model);
    if (!status) status = read_unknown(r, model);
    if (!status) find_bytes(r->f);
    return status;
}

/* == Added tokens ========================================================= */

/* Its piece: new, or that of the vocabulary. */
static int added_piece(const TokenJson *r, const JsonNode *token, int32_t id, const char *content) {
    Vocabulary *v = &r->f->pieces;
    Text piece = { 0 };
    bool found;
    as_in_words(r, &piece, content, &found);
    int status = text_status(&piece, r->e);
    if (!status && !vocabulary_has(v, id)) {
        status = vocabulary_set(v, id, piece.at, piece.length, false, r->what, r->e);
    } else if (!status) {
        size_t n;
        char expected[64];
        const char *there = vocabulary_text(v, id, &n);
        print_text(expected, sizeof expected, "the piece of id %d", id);
        if (n != piece.length || memcmp(there, piece.at, n) != 0)
            status = token_json_lacks(r, token, "content", expected);
    }
    text_free(&piece);
    return status;
}

/* The library calls a token by its normalized text when it decodes. */
static int rename_token(TokenJson *r, int32_t id, const char *content) {
    Text piece = { 0 };
    bool found;
    int status = STATUS_OK;
    if (!r->renamed.ids) status = vocabulary_open(&r->renamed, r->f->pieces.ids, r->what, r->e);
    if (!status && vocabulary_has(&r->renamed, id)) return STATUS_OK; /* listed twice */
    as_in_words(r, &piece, content, &found);
    if (!status) status = text_status(&piece, r->e);
    if (!status)
        status = vocabulary_set(&r->renamed, id, piece.at, piece.length, false, r->what, r->e);
    text_free(&piece);
    return status;
}

static int token_json_add_token(TokenJson *r, const JsonNode *n) {
    AddedToken token = { 0 };
    NormalizeWork work = { 0 };
    bool normalized = false;
    const char *content = NULL;
    if (n->type != JSON_OBJECT) return token_json_wrong(r, n, "an object");
    int status = token_json_added_id(r, n, &token.id);
    if (!status) status = token_json_string(r, n, "content", PREFIX_LONGEST, &content);
    if (!status && !content) status = token_json_lacks(r, n, "content", "a string");
    if (!status) status = token_json_bool(r, n, "single_word", &token.single_word);
    if (!status) status = token_json_bool(r, n, "lstrip", &token.lstrip);
    if (!status) status = token_json_bool(r, n, "rstrip", &token.rstrip);
    if (!status) status = token_json_bool(r, n, "special", &token.special);
    if (!status) normalized = !token.special;
    if (!status) status = token_json_bool(r, n, "normalized", &normalized);
    if (status || !*content) return status;
    status = added_piece(r, n, token.id, content);
    if (!status && token.special) r->f->flags[token.id] |= TOKEN_SPECIAL;
    size_t length = strlen(content);
    PatternPlace place = { r->what, content, length, 0, 0 };
    if (!status && normalized)
        status = normalize(&r->f->normalizer, &work, &place, &content, &length, r->e);
    if (!status && normalized && r->f->normalizer.count)
        status = rename_token(r, token.id, content);
    if (!status && length)
        status = added_add(normalized ? &r->f->normalized : &r->f->raw, &token, content, length,
                           r->what, r->e);
    normalize_done(&work);
    return status;
}

static int read_added(TokenJson *r, const JsonNode *added) {
    int status = STATUS_OK;
    if (!added || added->type == JSON_NULL) return STATUS_OK;
    for (const JsonNode *c = json_first(r->j, added); c && !status; c = json_next(r->j, c))
        status = token_json_add_token(r, c);
    return status;
}

/* == The file ============================================================= */

static int read_parts(TokenJson *r) {
    const JsonNode *root = r->j->node, *added = json_member(r->j, root, "added_tokens");
    if (root->type != JSON_OBJECT) return token_json_wrong(r, root, "an object");
    if (json_member(r->j, root, "version") && !token_json_has(r, root, "version", "1.0"))
        return token_json_lacks(r, root, "version", "1.0");
    if (added && added->type != JSON_ARRAY && added->type != JSON_NULL)
        return token_json_wrong(r, added, "a list");
    const JsonNode *object = json_member(r->j, root, TEXT_MEMBER);
    int status = text_reader_node(&r->text, r->j, object, r->what, r->e);
    if (!status) status = token_json_normalizer(r, json_member(r->j, root, "normalizer"));
    if (!status) status = token_json_splitter(r, json_member(r->j, root, "pre_tokenizer"));
    if (!status) status = read_model(r, json_member(r->j, root, "model"), added);
    if (!status) status = read_added(r, added);
    if (!status) status = token_json_template(r, json_member(r->j, root, "post_processor"));
    if (!status) status = text_reader_add(&r->text, r->t, r->e);
    if (!status) status = token_json_decoder(r, json_member(r->j, root, "decoder"));
    return status ? status : text_facts_read(r->t, &r->text.object, r->e);
}

int token_json_read(Tokenizer *t, const char *what, const char *bytes, size_t length, Error *e) {
    Json j;
    TokenJson r = { .t = t, .j = &j, .what = what, .e = e };
    int status = json_parse(&j, what, bytes, length, JSON_VALUES, e);
    if (status) return status;
    r.f = token_file_new(t, FORMAT_JSON, what, e);
    status = r.f ? read_parts(&r) : STATUS_LIMIT;
    text_reader_close(&r.text);
    json_free(&j);
    vocabulary_free(&r.renamed);
    if (status) return status;
    r.f->described = r.f->score ? "tokenizer.json, unigram"
        : r.f->bytes            ? "tokenizer.json, byte-level BPE"
                                : "tokenizer.json, BPE of characters";
    return STATUS_OK;
}
