/* SPDX-License-Identifier: MIT
** tokenizer.json: a model of type Unigram, and the map of characters that stands before it. */
#include "token_json.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"

/* == The model ============================================================ */

/* One of the vocabulary, [PIECE, SCORE]; its id is its place. */
static int unigram_add_piece(const TokenJson *r, const JsonNode *n, int32_t id) {
    TokenFile *f = r->f;
    const JsonNode *piece = n->type == JSON_ARRAY && n->count == 2 ? json_first(r->j, n) : NULL,
                   *score = piece ? json_next(r->j, piece) : NULL;
    double value;
    if (!score || piece->type != JSON_STRING || !json_double(score, &value)
        || !(value - value == 0))
        return token_json_wrong(r, n, "a piece and its score");
    size_t length = strlen(piece->text);
    if (length > PREFIX_LONGEST) return token_json_beyond(r, piece, PREFIX_LONGEST, length);
    f->score[id] = value;
    if (value < f->low) f->low = value;
    int status = vocabulary_set(&f->pieces, id, piece->text, length, length > 0, r->what, r->e);
    if (status || !length) return status;
    return prefix_add(&f->tree, piece->text, length, id, r->what, r->e);
}

static int unigram_add_pieces(const TokenJson *r, const JsonNode *vocab, int32_t ids) {
    TokenFile *f = r->f;
    int32_t id = 0;
    int status = STATUS_OK;
    f->low = 1e300;
    f->score = calloc((size_t)ids, sizeof *f->score);
    if (!f->score) return error_memory(r->e, r->what, (size_t)ids * sizeof *f->score);
    for (const JsonNode *c = json_first(r->j, vocab); c && !status; c = json_next(r->j, c))
        status = unigram_add_piece(r, c, id++);
    return status;
}

static int read_unknown(const TokenJson *r, const JsonNode *model, int32_t pieces) {
    const JsonNode *n = json_member(r->j, model, "unk_id");
    int64_t id;
    if (!n || !json_int64(n, &id) || id < 0 || id >= pieces)
        return token_json_lacks(r, model, "unk_id", "the id of a piece");
    r->f->unknown = (int32_t)id;
    r->f->flags[id] |= TOKEN_UNKNOWN;
    return STATUS_OK;
}

static int read_bytes(const TokenJson *r, const JsonNode *model) {
    TokenFile *f = r->f;
    int status = token_json_bool(r, model, "byte_fallback", &f->byte_fallback);
    for (int i = 0; i < 256 && f->byte_fallback && !status; i++) {
        char spelled[8];
        int n = print_text(spelled, sizeof spelled, "<0x%02X>", (unsigned)i);
        f->byte_id[i] = vocabulary_find(&f->pieces, spelled, (size_t)n);
        if (f->byte_id[i] < 0)
            status = token_json_lacks(r, model, "byte_fallback",
                                      "false without a piece of each byte");
    }
    return status;
}

int token_json_unigram(TokenJson *r, const JsonNode *model, const JsonNode *added) {
    const JsonNode *vocab;
    int32_t ids = 0;
    int status = token_json_only(r, model, "type unk_id vocab byte_fallback");
    if (!status && r->f->bytes) status = token_json_lacks(r, model, "type", "BPE beside ByteLevel");
    if (!status) status = token_json_list(r, model, "vocab", &vocab);
    if (status) return status;
    if (!vocab->count || vocab->count > VOCABULARY_IDS)
        return token_json_wrong(r, vocab, "from 1 to 4194304 pieces");
    ids = (int32_t)vocab->count;
    status = token_json_added_ids(r, added, &ids);
    if (!status) ids = text_reader_ids(&r->text, ids);
    if (!status) status = token_file_ids(r->t, ids, r->what, r->e);
    if (!status) status = unigram_add_pieces(r, vocab, ids);
    if (!status) status = read_unknown(r, model, (int32_t)vocab->count);
    return status ? status : read_bytes(r, model);
}

/* == The map ============================================================== */

enum { MAP_LONGEST = 1 << 26 };

int token_json_precompiled(const TokenJson *r, const JsonNode *part, Charsmap *map) {
    const char *text;
    size_t n = 0;
    int status = token_json_only(r, part, "type precompiled_charsmap");
    if (!status) status = token_json_string(r, part, "precompiled_charsmap", MAP_LONGEST, &text);
    if (!status && !text) status = token_json_lacks(r, part, "precompiled_charsmap", "a string");
    if (status) return status;
    size_t length = strlen(text);
    char *bytes = malloc(length + 1);
    if (!bytes) return error_memory(r->e, r->what, length + 1);
    if (base64_decode(text, length, bytes, &n))
        status = charsmap_read(map, bytes, n, r->what, r->e);
    else status = token_json_lacks(r, part, "precompiled_charsmap", "base64");
    free(bytes);
    return status;
}
