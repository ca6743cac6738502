/* SPDX-License-Identifier: MIT
** Tables of tokenizers to GGUF; see gguf_tables.h. */
#include "gguf_tables.h"

#include <stdlib.h>
#include <string.h>

#include "file_tables.h"
#include "scanner.h"

enum { TYPE_NORMAL = 1, TYPE_UNKNOWN, TYPE_CONTROL, TYPE_USER, TYPE_UNUSED, TYPE_BYTE };

static int tables_refuse(const char *file, const char *expected, const char *found, Error *e) {
    return error_set(e, STATUS_USER,
                     "%s: expected %s, which llama.cpp does, found %s; --to hf takes any", file,
                     expected, found);
}

/* == Tokens =============================================================== */

static bool is_added(const TokenFile *f, int32_t id) {
    for (int32_t i = 0; i < f->raw.count; i++)
        if (f->raw.token[i].id == id) return true;
    return false;
}

static int32_t tables_type_of(const TokenFile *f, int32_t id) {
    if (id >= f->pieces.ids || !vocabulary_has(&f->pieces, id)) return TYPE_UNUSED;
    const uint8_t flags = f->flags[id];
    if (flags & TOKEN_UNKNOWN) return TYPE_UNKNOWN;
    if (flags & TOKEN_BYTE) return TYPE_BYTE;
    if (flags & TOKEN_SPECIAL) return TYPE_CONTROL;
    if (flags & TOKEN_USER || is_added(f, id)) return TYPE_USER;
    return flags & TOKEN_UNUSED ? TYPE_UNUSED : TYPE_NORMAL;
}

/* A piece of ranks is bytes, which GGUF spells as GPT-2 does; a special token is text. */
static void spell(Text *to, const TokenFile *f, int32_t id) {
    size_t n;
    const char *piece = vocabulary_text(&f->pieces, id, &n);
    bool bytes = f->format == FORMAT_RANKS && !(f->flags[id] & TOKEN_SPECIAL);
    if (!bytes) text_bytes(to, piece, n);
    for (size_t i = 0; bytes && i < n; i++) {
        int32_t c = byte_character((unsigned char)piece[i]);
        char two[2] = { (char)(0xc0 | c >> 6), (char)(0x80 | (c & 63)) };
        if (c < 128) two[0] = (char)c;
        text_bytes(to, two, c < 128 ? 1 : 2);
    }
}

static int tables_add_tokens(Gguf *g, const TokenFile *f, int32_t *type, int64_t vocab, Error *e) {
    Text token = { 0 };
    gguf_strings(g, "tokenizer.ggml.tokens", (uint64_t)vocab);
    for (int64_t i = 0; i < vocab; i++) {
        type[i] = tables_type_of(f, (int32_t)i);
        text_clear(&token);
        if (i < f->pieces.ids && vocabulary_has(&f->pieces, (int32_t)i))
            spell(&token, f, (int32_t)i);
        else text_add(&token, "[PAD%lld]", (long long)i);
        if (token.at) gguf_item(g, token.at, token.length);
    }
    gguf_i32s(g, "tokenizer.ggml.token_type", type, (uint64_t)vocab);
    int status = text_status(&token, e);
    text_free(&token);
    return status;
}

/* == SentencePiece ======================================================== */

/* llama.cpp makes marks of spaces, puts one in front, merges by scores, and takes the bytes of what
** is left: nothing else. */
static int check_pieces(const TokenFile *f, const char *file, Error *e) {
    const Charsmap *x = &f->charsmap;
    static const char model[] = "a SentencePiece model of type BPE with byte_fallback",
                      plain[] = "a SentencePiece model without a normalizer";
    if (f->score) return tables_refuse(file, model, "one of type unigram", e);
    if (!f->byte_fallback) return tables_refuse(file, model, "one without byte_fallback", e);
    if (x->units) return tables_refuse(file, plain, "one that replaces characters", e);
    if (x->squeeze)
        return tables_refuse(file, plain, "one that removes spaces (remove_extra_whitespaces)", e);
    if (!x->escape)
        return tables_refuse(file, plain, "one that keeps spaces (escape_whitespaces)", e);
    if (x->suffix)
        return tables_refuse(file, plain,
                             "one that puts spaces behind (treat_whitespace_as_suffix)", e);
    return STATUS_OK;
}

/* A higher score merges first, as a lower rank does. */
static int add_scores(Gguf *g, const TokenFile *f, const int32_t *type, int64_t vocab, Error *e) {
    float *score = calloc((size_t)vocab, sizeof *score);
    if (!score) return error_memory(e, "tokenizer", (size_t)vocab * sizeof *score);
    for (int64_t i = 0; i < vocab; i++)
        if (type[i] == TYPE_NORMAL) score[i] = -(float)f->rank[i];
        else if (type[i] == TYPE_UNUSED) score[i] = -1000;
    gguf_f32s(g, "tokenizer.ggml.scores", score, (uint64_t)vocab);
    free(score);
    return STATUS_OK;
}

/* == Ranks ================================================================ */

const char *gguf_split_of(const char *expression) {
    static const struct {
        const char *expression, *name;
    } splits[] = {
        { "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
          "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
          "llama-bpe" },
        { "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|"
          "\\s+(?!\\S)|\\s",
          "gpt-2" },
        { "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
          "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
          "qwen2" },
    };
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (!strcmp(expression, splits[i].expression)) return splits[i].name;
    return NULL;
}

/* Of the expression that the number of ranks stands for. */
static const char *split_of_ranks(const TokenFile *f) {
    const SplitStep *s = &f->splitter.step[0];
    if (f->splitter.count != 1 || s->kind != SPLIT_SCANNED) return NULL;
    return gguf_split_of(scanner_pattern(s->scanner));
}

static int by_rank(const void *a, const void *b) {
    const PairSlot *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* Every pair of pieces that makes one, by the rank of what it makes. */
static int tables_add_merges(Gguf *g, const TokenFile *f, Error *e) {
    const PairTable *p = &f->pairs;
    PairSlot *pair = malloc((p->count + 1) * sizeof *pair);
    Text merge = { 0 };
    uint64_t n = 0;
    if (!pair) return error_memory(e, "merges", (p->count + 1) * sizeof *pair);
    for (uint64_t i = 0; p->slot && i <= p->mask; i++)
        if (p->slot[i].key != UINT64_MAX) pair[n++] = p->slot[i];
    qsort(pair, n, sizeof *pair, by_rank);
    gguf_strings(g, "tokenizer.ggml.merges", n);
    for (uint64_t i = 0; i < n; i++) {
        text_clear(&merge);
        spell(&merge, f, (int32_t)(pair[i].key >> 32));
        text_bytes(&merge, " ", 1);
        spell(&merge, f, (int32_t)(uint32_t)pair[i].key);
        if (merge.at) gguf_item(g, merge.at, merge.length);
    }
    int status = text_status(&merge, e);
    text_free(&merge);
    free(pair);
    return status;
}

/* == Both ================================================================= */

int gguf_tables(Gguf *g, const Tokenizer *t, const char *file, int64_t vocab, Error *e) {
    const TokenFile *f = t->tables;
    bool ranks = f->format == FORMAT_RANKS;
    const char *split = ranks ? split_of_ranks(f) : "default";
    int status = ranks ? STATUS_OK : check_pieces(f, file, e);
    if (!split)
        status = tables_refuse(file, "the ranks of GPT-2, Llama 3 or Qwen",
                               "those of another vocabulary", e);
    if (!status && t->ids > vocab)
        status = error_set(e, STATUS_USER, "%s: expected at most %lld ids, found %d", file,
                           (long long)vocab, t->ids);
    int32_t *type = status ? NULL : calloc((size_t)vocab, sizeof *type);
    if (!status && !type) status = error_memory(e, file, (size_t)vocab * sizeof *type);
    if (status) return status;
    gguf_string(g, "tokenizer.ggml.model", ranks ? "gpt2" : "llama");
    gguf_string(g, "tokenizer.ggml.pre", split);
    status = tables_add_tokens(g, f, type, vocab, e);
    if (!status && !ranks) status = add_scores(g, f, type, vocab, e);
    if (!status && ranks) status = tables_add_merges(g, f, e);
    if (!ranks) {
        gguf_bool(g, "tokenizer.ggml.add_space_prefix", f->charsmap.dummy_prefix);
        if (f->unknown >= 0) gguf_u32(g, "tokenizer.ggml.unknown_token_id", (uint32_t)f->unknown);
    }
    free(type);
    return status;
}

const char *gguf_tables_note(const Tokenizer *t) {
    const TokenFile *f = t->tables;
    bool differs = f->format == FORMAT_PIECES && f->charsmap.dummy_prefix
        && (f->one_prefix || f->prefix_once);
    return differs ? "llama.cpp puts a space in front of a text that begins with one, and behind "
                     "special tokens within a text, where transformers puts none: such prompts "
                     "become other tokens there"
                   : NULL;
}
