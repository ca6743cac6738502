/* SPDX-License-Identifier: MIT
** The object of a tokenizer's file: its members; see text_facts.h. */
#include <stdlib.h>
#include <string.h>

#include "file_tables.h"
#include "text_facts.h"

static const struct {
    const char *name, *begin, *end;
} classes[] = {
#define CLASS(name, begin, end) { name, begin, end },
#include "tokenizer_classes.def"
};

/* == Places =============================================================== */

/* "FILE:strata.config.eos_token_id", or "FOLDER/config.json:eos_token_id". */
int text_object_wrong(const TextObject *x, const JsonNode *n, const char *expected, Error *e) {
    char place[400];
    const char *at = json_place(x->j, n, place, sizeof place);
    bool shown = n->type == JSON_STRING || n->type == JSON_NUMBER;
    const char *quote = shown ? "\"" : "", *found = shown ? n->text : json_kind(n);
    if (!strncmp(at, TEXT_MEMBER ".", sizeof TEXT_MEMBER)) at += sizeof TEXT_MEMBER;
    size_t file = strcspn(at, ".");
    if (!x->folder)
        return error_set(e, STATUS_USER, "%s:" TEXT_MEMBER "%s%s: expected %s, found %s%.100s%s",
                         x->what, n == x->object ? "" : ".", n == x->object ? "" : at, expected,
                         quote, found, quote);
    return error_set(e, STATUS_USER, "%s/%.*s.json:%s: expected %s, found %s%.100s%s", x->what,
                     (int)file, at, at + file + (at[file] == '.'), expected, quote, found, quote);
}

const JsonNode *text_object_member(const TextObject *x, const char *name) {
    const JsonNode *n = x->object ? json_member(x->j, x->object, name) : NULL;
    return n && n->type == JSON_OBJECT ? n : NULL;
}

int text_object_check(const TextObject *x, Error *e) {
    static const char *const known[] = { "config",           "generation_config",
                                         "tokenizer_config", "special_tokens_map",
                                         "added_tokens",     "chat_template" };
    const JsonNode *n = x->object && x->object->type == JSON_OBJECT ? json_first(x->j, x->object)
                                                                    : NULL;
    if (x->object && x->object->type != JSON_OBJECT)
        return text_object_wrong(x, x->object, "an object", e);
    for (; n; n = json_next(x->j, n)) {
        size_t k = 0, all = sizeof known / sizeof *known;
        while (k < all && strcmp(n->key, known[k]) != 0)
            k++;
        if (k == all) return text_object_wrong(x, n, "a member that is known", e);
        if (n->type != (k == all - 1 ? JSON_STRING : JSON_OBJECT))
            return text_object_wrong(x, n, k == all - 1 ? "a text" : "an object", e);
    }
    return STATUS_OK;
}

/* == Names ================================================================ */

/* A text, or the content of a token with options. */
static const char *content(const Json *j, const JsonNode *n) {
    if (n && n->type == JSON_OBJECT) n = json_member(j, n, "content");
    return n && n->type == JSON_STRING ? n->text : NULL;
}

/* Which of the two files names it: *said also where it says that there is none. */
static const JsonNode *object_name_of(const TextObject *x, const char *name) {
    const JsonNode *config = text_object_member(x, "tokenizer_config"),
                   *map = text_object_member(x, "special_tokens_map"), *n = NULL;
    if (map && !(config && json_member(x->j, config, "added_tokens_decoder")))
        n = json_member(x->j, map, name);
    return n || !config ? n : json_member(x->j, config, name);
}

static size_t class_length(const char *name) {
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, "Fast") ? n - 4 : n;
}

static const char *object_class_of(const TextObject *x) {
    const JsonNode *config = text_object_member(x, "tokenizer_config"),
                   *n = config ? json_member(x->j, config, "tokenizer_class") : NULL;
    return n && n->type == JSON_STRING ? n->text : "";
}

static bool is_class(const char *name, const char *wanted) {
    return class_length(name) == strlen(wanted) && !strncmp(name, wanted, strlen(wanted));
}

const char *text_named(const TextObject *x, const char *name) {
    const JsonNode *n = object_name_of(x, name);
    const char *class = object_class_of(x);
    if (n) return content(x->j, n);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (!is_class(class, classes[i].name)) continue;
        if (!strcmp(name, "bos_token")) return classes[i].begin;
        if (!strcmp(name, "eos_token")) return classes[i].end;
    }
    return NULL;
}

bool text_flag(const TextObject *x, const char *name, bool absent) {
    const JsonNode *config = text_object_member(x, "tokenizer_config"),
                   *n = config ? json_member(x->j, config, name) : NULL;
    return n ? n->type == JSON_TRUE : absent;
}

bool text_pieces_as_they_are(const TextObject *x) {
    return is_class(object_class_of(x), "LlamaTokenizer");
}

bool text_pieces_begin(const TextObject *x) {
    return text_flag(x, "legacy", !is_class(object_class_of(x), "LlamaTokenizer"));
}

/* == Chat templates ======================================================= */

/* Of a list of {"name", "template"}: "default", else the only one. */
static const JsonNode *of_list(const Json *j, const JsonNode *list) {
    const JsonNode *one = NULL;
    for (const JsonNode *n = json_first(j, list); n; n = json_next(j, n)) {
        const JsonNode *name = n->type == JSON_OBJECT ? json_member(j, n, "name") : NULL,
                       *template = name ? json_member(j, n, "template") : NULL;
        if (!template) continue;
        if (list->count == 1) one = template;
        if (name->type == JSON_STRING && !strcmp(name->text, "default")) return template;
    }
    return one;
}

int text_template(const TextObject *x, const char **out, Error *e) {
    const JsonNode *config = text_object_member(x, "tokenizer_config"),
                   *n = x->object ? json_member(x->j, x->object, "chat_template") : NULL;
    *out = NULL;
    if (!n && config) n = json_member(x->j, config, "chat_template");
    if (n && n->type == JSON_ARRAY) n = of_list(x->j, n);
    if (!n || n->type == JSON_NULL) return STATUS_OK;
    if (n->type != JSON_STRING) return text_object_wrong(x, n, "a text", e);
    if (strlen(n->text) > TEXT_TEMPLATE)
        return error_set(e, STATUS_LIMIT, "%s: chat template: expected at most %d bytes, found %zu",
                         x->what, TEXT_TEMPLATE, strlen(n->text));
    *out = n->text;
    return STATUS_OK;
}

/* == Tokens =============================================================== */

typedef struct AddedList {
    const TextObject *x;
    TextAdded *at;
    int count;
    Error *e;
} AddedList;

static bool flag(const Json *j, const JsonNode *token, const char *name) {
    const JsonNode *n = token->type == JSON_OBJECT ? json_member(j, token, name) : NULL;
    return n && n->type == JSON_TRUE;
}

/* What is there already stays: the first says more. */
static int object_add(AddedList *l, const JsonNode *token, int64_t id, bool special) {
    const char *text = content(l->x->j, token);
    if (!text || !*text) return STATUS_OK;
    if (strlen(text) > PREFIX_LONGEST)
        return text_object_wrong(l->x, token, "a token of at most 512 bytes", l->e);
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->at[i].content, text)) return STATUS_OK;
    if (l->count == TEXT_ADDED)
        return error_set(l->e, STATUS_LIMIT, "%s: expected at most %d added tokens, found more",
                         l->x->what, TEXT_ADDED);
    const Json *j = l->x->j;
    l->at[l->count++] = (TextAdded){ .id = id,
                                     .content = text,
                                     .single_word = flag(j, token, "single_word"),
                                     .lstrip = flag(j, token, "lstrip"),
                                     .rstrip = flag(j, token, "rstrip"),
                                     .special = special };
    return STATUS_OK;
}

/* {"32000": {"content": ...}} */
static int add_decoder(AddedList *l, const JsonNode *decoder) {
    int status = STATUS_OK;
    const JsonNode *n = decoder->type == JSON_OBJECT ? json_first(l->x->j, decoder) : NULL;
    for (; n && !status; n = json_next(l->x->j, n)) {
        int64_t id;
        if (!parse_int64(n->key, 0, VOCABULARY_IDS - 1, &id))
            return text_object_wrong(l->x, n, "an id as its name", l->e);
        status = object_add(l, n, id, flag(l->x->j, n, "special"));
    }
    return status;
}

/* {"<pad>": 32000} */
static int add_map(AddedList *l, const JsonNode *map) {
    int status = STATUS_OK;
    for (const JsonNode *n = json_first(l->x->j, map); n && !status; n = json_next(l->x->j, n)) {
        int64_t id;
        if (!json_int64(n, &id) || id < 0 || id >= VOCABULARY_IDS)
            return text_object_wrong(l->x, n, "an id of a token", l->e);
        if (strlen(n->key) > PREFIX_LONGEST || !*n->key)
            return text_object_wrong(l->x, n, "a token of 1 to 512 bytes", l->e);
        if (l->count == TEXT_ADDED)
            return error_set(l->e, STATUS_LIMIT, "%s: expected at most %d added tokens, found more",
                             l->x->what, TEXT_ADDED);
        l->at[l->count++] = (TextAdded){ .id = id, .content = n->key };
    }
    return status;
}

static const char *const names[] = { "bos_token", "eos_token", "unk_token",  "sep_token",
                                     "pad_token", "cls_token", "mask_token", NULL };

/* Names that an entry of a list is among. */
static int add_lists(AddedList *l) {
    static const char *const list[] = { "additional_special_tokens", "extra_special_tokens" };
    int status = STATUS_OK;
    for (int i = 0; i < 2 && !status; i++) {
        const JsonNode *n = object_name_of(l->x, list[i]);
        if (!n || n->type != JSON_ARRAY) continue;
        const JsonNode *one = json_first(l->x->j, n);
        for (; one && !status; one = json_next(l->x->j, one))
            status = object_add(l, one, -1, true);
    }
    return status;
}

/* Those of added_tokens.json are special where another member names them. */
static void mark_special(AddedList *l) {
    for (int i = 0; i < l->count; i++)
        for (int k = 0; names[k]; k++) {
            const char *text = text_named(l->x, names[k]);
            if (text && !strcmp(text, l->at[i].content)) l->at[i].special = true;
        }
}

int text_added(const TextObject *x, TextAdded **list, int *count, Error *e) {
    const JsonNode *config = text_object_member(x, "tokenizer_config"),
                   *decoder = config ? json_member(x->j, config, "added_tokens_decoder") : NULL,
                   *map = text_object_member(x, "added_tokens");
    AddedList l = { .x = x, .e = e };
    *list = NULL;
    *count = 0;
    if (!x->object) return STATUS_OK;
    l.at = calloc(TEXT_ADDED, sizeof *l.at);
    if (!l.at) return error_memory(e, x->what, TEXT_ADDED * sizeof *l.at);
    int status = decoder ? add_decoder(&l, decoder) : map ? add_map(&l, map) : STATUS_OK;
    if (!status) mark_special(&l);
    for (int i = 0; names[i] && !status; i++) {
        const JsonNode *n = object_name_of(x, names[i]);
        if (n) status = object_add(&l, n, -1, true);
    }
    if (!status) status = add_lists(&l);
    if (status) {
        free(l.at);
        return status;
    }
    *list = l.at;
    *count = l.count;
    return STATUS_OK;
}
