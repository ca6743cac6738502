/* SPDX-License-Identifier: MIT
** Tokenizers to GGUF; see gguf_tokenizer.h. */
#include "gguf_tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "gguf_tables.h"
#include "tokenizer_file.h"

enum { TYPE_NORMAL = 1, TYPE_CONTROL = 3, TYPE_USER = 4, TYPE_UNUSED = 5 };

typedef struct VocabularyTexts {
    const char **text; /* by id; NULL: none */
    int32_t *type;
    int64_t count;
} VocabularyTexts;

/* == The file ============================================================= */

/* The content of a file that was opened as a tokenizer's. */
static int read_json(const char *file, const char *text, size_t size, Json *j, Error *e) {
    if (size > TOKENIZER_FILE)
        return error_set(e, STATUS_LIMIT, "%s: expected at most %d bytes, found more", file,
                         TOKENIZER_FILE);
    return json_parse(j, file, text, size, TOKENIZER_VALUES, e);
}

static const JsonNode *tokenizer_member(const Json *j, const JsonNode *n, const char *key,
                                        JsonType type) {
    const JsonNode *m = n && n->type == JSON_OBJECT ? json_member(j, n, key) : NULL;
    return m && m->type == type ? m : NULL;
}

static const char *tokenizer_string(const Json *j, const JsonNode *n, const char *key) {
    const JsonNode *m = tokenizer_member(j, n, key, JSON_STRING);
    return m ? m->text : "";
}

/* == How text is cut before merges ======================================== */

/* Of one step: "" where it is none that is known. */
static const char *step_name(const Json *j, const JsonNode *step) {
    const char *type = tokenizer_string(j, step, "type");
    if (!strcmp(type, "ByteLevel"))
        return tokenizer_member(j, step, "use_regex", JSON_FALSE) ? "bytes" : "gpt-2";
    if (!strcmp(type, "Digits"))
        return tokenizer_member(j, step, "individual_digits", JSON_TRUE) ? "digits" : "";
    const char *expression = tokenizer_string(j, tokenizer_member(j, step, "pattern", JSON_OBJECT),
                                              "Regex");
    const char *name = strcmp(type, "Split") ? NULL : gguf_split_of(expression);
    return name && strcmp(name, "gpt-2") ? name : ""; /* that one is ByteLevel's own */
}

static const char *split_name(const Json *j) {
    const JsonNode *p = tokenizer_member(j, j->node, "pre_tokenizer", JSON_OBJECT);
    if (!p) return NULL;
    const JsonNode *list = tokenizer_member(j, p, "pretokenizers", JSON_ARRAY);
    if (!list) return !strcmp(step_name(j, p), "gpt-2") ? "gpt-2" : NULL;
    const JsonNode *one = json_first(j, list), *two = one ? json_next(j, one) : NULL;
    if (!two || json_next(j, two)) return NULL;
    const char *first = step_name(j, one), *second = step_name(j, two);
    if (!strcmp(first, "digits") && !strcmp(second, "gpt-2")) return "smollm";
    bool split = !strcmp(first, "llama-bpe") || !strcmp(first, "qwen2");
    return split && !strcmp(second, "bytes") ? first : NULL;
}

/* == Tokens =============================================================== */

static int set_token(VocabularyTexts *t, const char *file, const char *text, const JsonNode *id,
                     int32_t type, Error *e) {
    int64_t i;
    if (!id || !json_int64(id, &i) || i < 0 || i >= t->count)
        return error_set(e, STATUS_USER, "%s: expected ids from 0 to %lld, found '%s' of '%s'",
                         file, (long long)t->count - 1, id ? id->text ? id->text : "" : "none",
                         text);
    if (t->text[i] && (type == TYPE_NORMAL || strcmp(t->text[i], text)))
        return error_set(e, STATUS_USER, "%s: expected each id once, found %lld twice", file,
                         (long long)i);
    t->text[i] = text;
    t->type[i] = type;
    return STATUS_OK;
}

static int read_tokens(const Json *j, const char *file, VocabularyTexts *t, Error *e) {
    const JsonNode *model = tokenizer_member(j, j->node, "model", JSON_OBJECT);
    const JsonNode *vocab = tokenizer_member(j, model, "vocab", JSON_OBJECT);
    const JsonNode *added = tokenizer_member(j, j->node, "added_tokens", JSON_ARRAY);
    if (!vocab) return error_set(e, STATUS_USER, "%s: expected model.vocab, found none", file);
    int status = STATUS_OK;
    for (const JsonNode *n = json_first(j, vocab); n && !status; n = json_next(j, n))
        status = set_token(t, file, n->key, n, TYPE_NORMAL, e);
    for (const JsonNode *n = added ? json_first(j, added) : NULL; n && !status;
         n = json_next(j, n)) {
        const JsonNode *id = tokenizer_member(j, n, "id", JSON_NUMBER);
        bool special = tokenizer_member(j, n, "special", JSON_TRUE) != NULL;
        status = set_token(t, file, tokenizer_string(j, n, "content"), id,
                           special ? TYPE_CONTROL : TYPE_USER, e);
    }
    return status;
}

static void tokenizer_add_tokens(Gguf *g, VocabularyTexts *t) {
    gguf_strings(g, "tokenizer.ggml.tokens", (uint64_t)t->count);
    for (int64_t i = 0; i < t->count; i++) {
        char unused[32];
        print_text(unused, sizeof unused, "[PAD%lld]", (long long)i);
        if (!t->text[i]) t->type[i] = TYPE_UNUSED;
        const char *text = t->text[i] ? t->text[i] : unused;
        gguf_item(g, text, strlen(text));
    }
    gguf_i32s(g, "tokenizer.ggml.token_type", t->type, (uint64_t)t->count);
}

/* "a b" or ["a", "b"] */
static int tokenizer_add_merges(const Json *j, const char *file, Gguf *g, Error *e) {
    const JsonNode *list = tokenizer_member(j, tokenizer_member(j, j->node, "model", JSON_OBJECT),
                                            "merges", JSON_ARRAY);
    if (!list) return error_set(e, STATUS_USER, "%s: expected model.merges, found none", file);
    gguf_strings(g, "tokenizer.ggml.merges", list->count);
    for (const JsonNode *n = json_first(j, list); n; n = json_next(j, n)) {
        Text pair = { 0 };
        const JsonNode *one = n->type == JSON_ARRAY ? json_first(j, n) : NULL;
        const JsonNode *two = one ? json_next(j, one) : NULL;
        bool list_of_two = two && one->type == JSON_STRING && two->type == JSON_STRING;
        if (n->type != JSON_STRING && !list_of_two)
            return error_set(e, STATUS_USER, "%s: expected merges as pairs, found another value",
                             file);
        if (list_of_two) text_add(&pair, "%s %s", one->text, two->text);
        else text_add(&pair, "%s", n->text);
        if (pair.at) gguf_item(g, pair.at, pair.length);
        int status = text_status(&pair, e);
        text_free(&pair);
        if (status) return status;
    }
    return STATUS_OK;
}

/* == What begins and ends texts =========================================== */

static void add_id(Gguf *g, const char *key, int32_t id) {
    if (id >= 0) gguf_u32(g, key, (uint32_t)id);
}

/* The token that ends a turn of a conversation, beside the one that ends texts. */
static int32_t turn_end(const Tokenizer *t, int32_t eos) {
    static const char *const names[] = { "<|eot_id|>", "<|im_end|>",    "<end_of_turn>",
                                         "<|end|>",    "<|endofturn|>", "<|return|>",
                                         NULL };
    for (int i = 0; names[i]; i++) {
        int32_t id = tokenizer_find(t, names[i]);
        if (id >= 0 && (id == eos || text_facts_ends(&t->facts, id))) return id;
    }
    return -1;
}

static void add_specials(Gguf *g, const Tokenizer *t) {
    const TextFacts *f = &t->facts;
    int32_t eos = f->eos >= 0 ? f->eos : f->ends ? f->end[0] : -1;
    add_id(g, "tokenizer.ggml.bos_token_id", f->begin);
    add_id(g, "tokenizer.ggml.eos_token_id", eos);
    add_id(g, "tokenizer.ggml.eot_token_id", turn_end(t, eos));
    add_id(g, "tokenizer.ggml.padding_token_id", f->pad);
    gguf_bool(g, "tokenizer.ggml.add_bos_token", tokenizer_begins_texts(t));
    gguf_bool(g, "tokenizer.ggml.add_eos_token", tokenizer_ends_texts(t));
    if (f->template) gguf_string(g, "tokenizer.chat_template", f->template);
}

static int new_tokens(VocabularyTexts *t, int64_t count, Error *e) {
    t->count = count;
    t->text = calloc((size_t)count, sizeof *t->text);
    t->type = calloc((size_t)count, sizeof *t->type);
    if (t->text && t->type) return STATUS_OK;
    return error_memory(e, "tokenizer", (size_t)count * (sizeof *t->text + sizeof *t->type));
}

static int add_bpe(Gguf *g, const Json *j, const Tokenizer *own, const char *file,
                   VocabularyTexts *t, Error *e) {
    const JsonNode *model = tokenizer_member(j, j->node, "model", JSON_OBJECT);
    const char *split = split_name(j);
    if (strcmp(tokenizer_string(j, model, "type"), "BPE") != 0)
        return error_set(e, STATUS_USER,
                         "%s: expected a model of type BPE, found '%s'; --to hf takes any", file,
                         tokenizer_string(j, model, "type"));
    if (!split)
        return error_set(e, STATUS_USER,
                         "%s: expected a pre_tokenizer as of GPT-2, Llama 3, Qwen2 or SmolLM, "
                         "which llama.cpp knows, found another; --to hf takes any",
                         file);
    int status = read_tokens(j, file, t, e);
    if (status) return status;
    gguf_string(g, "tokenizer.ggml.model", "gpt2");
    gguf_string(g, "tokenizer.ggml.pre", split);
    tokenizer_add_tokens(g, t);
    add_specials(g, own);
    return tokenizer_add_merges(j, file, g, e);
}

int gguf_tokenizer(Gguf *g, const char *file, int64_t vocab, const char **note, Error *e) {
    Json j = { 0 };
    VocabularyTexts t = { 0 };
    Tokenizer own = { 0 };
    char *text = NULL;
    size_t size = 0;
    *note = NULL;
    int status = tokenizer_open(&own, file, &text, &size, e);
    if (!status && !tokenizer_is_json(text, size)) {
        status = gguf_tables(g, &own, file, vocab, e);
        if (!status) add_specials(g, &own);
        *note = status ? NULL : gguf_tables_note(&own);
    } else if (!status) {
        status = read_json(file, text, size, &j, e);
        if (!status) status = new_tokens(&t, vocab, e);
        if (!status) status = add_bpe(g, &j, &own, file, &t, e);
    }
    tokenizer_free(&own);
    free(text);
    free(t.text);
    free(t.type);
    json_free(&j);
    return status;
}

/* == Bytes ================================================================ */

/* GPT-2's character for a byte, as UTF-8: printable ones are themselves, the others from 256 on. */
static int byte_character(int byte, char to[3]) {
    int others = 0, point = byte;
    for (int b = 0; b <= byte; b++) {
        bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        if (b == byte && !itself) point = 256 + others;
        others += !itself;
    }
    if (point < 128) return to[0] = (char)point, 1;
    to[0] = (char)(0xc0 | point >> 6);
    to[1] = (char)(0x80 | (point & 63));
    return 2;
}

void gguf_tokenizer_bytes(Gguf *g, int64_t vocab) {
    gguf_string(g, "tokenizer.ggml.model", "gpt2");
    gguf_string(g, "tokenizer.ggml.pre", "gpt-2");
    gguf_strings(g, "tokenizer.ggml.tokens", (uint64_t)vocab);
    for (int64_t i = 0; i < vocab; i++) {
        char text[32];
        int n = i < 256 ? byte_character((int)i, text)
                        : print_text(text, sizeof text, "[PAD%lld]", (long long)i);
        gguf_item(g, text, (size_t)n);
    }
    gguf_strings(g, "tokenizer.ggml.merges", 0);
    gguf_bool(g, "tokenizer.ggml.add_bos_token", false);
}
