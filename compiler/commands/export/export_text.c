/* SPDX-License-Identifier: MIT
** Writes what an exported folder says about texts: the tokenizer's file without the object of
** text_facts.h, and the files from which import made that object.  If there is no such object, it
** writes files that say what the tokenizer means here.
*/
#include "export_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_folder.h"
#include "json_text.h"
#include "text_object_file.h"
#include "tokenizer_file.h"

int export_text_open(ExportText *x, const char *file, Error *e) {
    *x = (ExportText){ .file = file };
    if (!file) return STATUS_OK;
    int status = folder_bytes(file, TOKENIZER_LONGEST, &x->bytes, &x->length, e);
    if (!status) status = text_object_parse(&x->object, file, x->bytes, x->length, e);
    /* what programs cannot read is copied: nothing is known of it */
    Error unread = { 0 };
    if (!status) status = tokenizer_parse(&x->t, file, x->bytes, x->length, &unread);
    if (status && unread.status == STATUS_USER) status = STATUS_OK;
    else if (unread.status) status = error_set(e, unread.status, "%s", unread.text);
    return status;
}

void export_text_close(ExportText *x) {
    tokenizer_free(&x->t);
    json_free(&x->object);
    free(x->bytes);
    *x = (ExportText){ 0 };
}

/* A file's object; NULL: the object has none. */
static const JsonNode *text_member(const ExportText *x, const char *name) {
    const TextObject o = { &x->object, x->object.node, x->file, false };
    return x->object.node ? text_object_member(&o, name) : NULL;
}

/* == Objects that get members ============================================= */

typedef struct NewMember {
    const char *key;
    char *value; /* JSON, of malloc; NULL: the member goes; "": it stays */
} NewMember;

static const NewMember *new_member(const NewMember *list, const char *key) {
    for (; list->key; list++)
        if (!strcmp(list->key, key)) return list;
    return NULL;
}

/* 'object' NULL: it is empty.  Members of the list are in the place of others, or behind them. */
static void write_object(Text *t, const Json *j, const JsonNode *object, const NewMember *list) {
    const char *between = "";
    text_add(t, "{");
    for (const JsonNode *n = object ? json_first(j, object) : NULL; n; n = json_next(j, n)) {
        const NewMember *m = new_member(list, n->key);
        if (m && !m->value) continue;
        text_add(t, "%s\n  ", between);
        text_json_string(t, n->key);
        text_add(t, ": ");
        if (m && *m->value) text_add(t, "%s", m->value);
        else json_lines(t, j, n, 1);
        between = ",";
    }
    for (; list->key; list++) {
        if (!list->value || !*list->value) continue;
        if (object && json_member(j, object, list->key)) continue;
        text_add(t, "%s\n  \"%s\": %s", between, list->key, list->value);
        between = ",";
    }
    text_add(t, "\n}\n");
}

static char *ids_value(const int32_t *id, int count) {
    Text t = { 0 };
    for (int i = 0; i < count; i++)
        text_add(&t, "%s%d", i ? ", " : count > 1 ? "[" : "", id[i]);
    text_add(&t, count > 1 ? "]" : "");
    return t.at;
}

static char *json_value(const ExportText *x, const JsonNode *n) {
    Text t = { 0 };
    json_text(&t, &x->object, n);
    return t.at;
}

/* An id that config.json or generation_config.json had, else what the tokenizer means. */
static char *id_value(const ExportText *x, const JsonNode *from, const char *key, int32_t own) {
    const JsonNode *n = from ? json_member(&x->object, from, key) : NULL;
    return n ? json_value(x, n) : own >= 0 ? ids_value(&own, 1) : NULL;
}

static void free_members(NewMember *list) {
    for (; list->key; list++)
        if (list->value && *list->value) free(list->value);
}

/* == Files ================================================================ */

/* bos, eos and pad of config.json, from the config that was, else as the tokenizer says. */
static void three_ids(const ExportText *x, const JsonNode *from, NewMember out[4]) {
    static const char *const key[] = { "bos_token_id", "eos_token_id", "pad_token_id" };
    const TextFacts *f = &x->t.facts;
    bool known = x->t.kind != NULL;
    for (int i = 0; i < 3; i++) {
        int32_t own = !known || i == 1 ? -1 : i ? f->pad : f->begin;
        out[i] = (NewMember){ key[i], id_value(x, from, key[i], own) };
    }
    if (!out[1].value && known && f->ends) out[1].value = ids_value(f->end, f->ends);
    out[3] = (NewMember){ 0 };
}

int export_text_config(const ExportText *x, Text *config, Error *e) {
    Json j = { 0 };
    Text t = { 0 };
    NewMember ids[4];
    int status = text_status(config, e);
    if (!status) status = json_parse(&j, "config.json", config->at, config->length, UINT32_MAX, e);
    if (status) return status;
    three_ids(x, text_member(x, "config"), ids);
    for (int i = 0; i < 3; i++)
        if (!ids[i].value) ids[i].value = (char *)"";
    write_object(&t, &j, j.node, ids);
    free_members(ids);
    json_free(&j);
    text_free(config);
    *config = t;
    return text_status(config, e);
}

/* As it came, but for the cache; else of what is known. */
static int write_generation(const ExportText *x, bool cache, const ExportFolder *f, Error *e) {
    const JsonNode *was = text_member(x, "generation_config"), *config = text_member(x, "config");
    NewMember list[6 + SAMPLINGS] = { 0 };
    Text t = { 0 };
    int n = 0;
    if (!was) {
        three_ids(x, config, list);
        n = 3;
        for (int i = 0; config && i <= SAMPLINGS; i++) {
            const char *key = i < SAMPLINGS ? sampling_name[i] : "do_sample";
            const JsonNode *one = json_member(&x->object, config, key);
            if (one) list[n++] = (NewMember){ key, json_value(x, one) };
        }
    }
    bool stays = was && cache && json_member(&x->object, was, "use_cache");
    list[n] = (NewMember){ "use_cache", strdup(cache ? "true" : "false") };
    if (stays || (was && cache)) free(list[n].value), list[n].value = (char *)"";
    write_object(&t, &x->object, was, list);
    free_members(list);
    int status = export_folder_text(f, "generation_config.json", &t, e);
    text_free(&t);
    return status;
}

/* Of a .model by itself the class that reads it as SentencePiece does; LlamaTokenizer merges in
** another order.  Of a .tiktoken transformers has no reader, and of classes that build their
** vocabulary themselves it would make an empty one without a word. */
static const char *text_class_of(const ExportText *x) {
    bool pieces = export_tokenizer_form(x->file) == EXPORT_MODEL;
    bool ranks = x->t.kind && !strncmp(tokenizer_described(&x->t), "tiktoken", 8);
    return pieces && !ranks ? "\"SentencePieceBackend\"" : "\"PreTrainedTokenizerFast\"";
}

/* A special token as the file spells it. */
static char *piece_value(const ExportText *x, int32_t id) {
    Text t = { 0 };
    if (!x->t.kind || id < 0) return NULL;
    text_json_token(&t, &x->t, id);
    return t.at;
}

/* As it came, without code of its own; else what transformers has to know. */
static int write_config(const ExportText *x, const ExportFolder *f, Error *e) {
    const JsonNode *was = text_member(x, "tokenizer_config");
    const TextFacts *facts = &x->t.facts;
    bool code = was && json_member(&x->object, was, "auto_map");
    bool own = !was || code || export_tokenizer_form(x->file) == EXPORT_TIKTOKEN;
    NewMember list[] = { { "tokenizer_class", own ? strdup(text_class_of(x)) : NULL },
                         { "auto_map", NULL },
                         { "clean_up_tokenization_spaces", was ? NULL : strdup("false") },
                         { "bos_token", was ? NULL : piece_value(x, facts->begin) },
                         { "eos_token", was ? NULL : piece_value(x, x->t.end) },
                         { NULL, NULL } };
    for (int i = 0; was && list[i].key; i++)
        if (i != 1 && !list[i].value) list[i].value = (char *)"";
    Text t = { 0 };
    write_object(&t, &x->object, was, list);
    free_members(list);
    int status = export_folder_text(f, "tokenizer_config.json", &t, e);
    text_free(&t);
    return status;
}

static int write_member(const ExportText *x, const char *name, const ExportFolder *f, Error *e) {
    static const NewMember none = { 0 };
    const JsonNode *was = text_member(x, name);
    char file[64];
    Text t = { 0 };
    if (!was) return STATUS_OK;
    print_text(file, sizeof file, "%s.json", name);
    write_object(&t, &x->object, was, &none);
    int status = export_folder_text(f, file, &t, e);
    text_free(&t);
    return status;
}

static int write_template(const ExportText *x, const ExportFolder *f, Error *e) {
    const JsonNode *n = x->object.node ? json_member(&x->object, x->object.node, "chat_template")
                                       : NULL;
    Text t = { 0 };
    if (!n) return STATUS_OK;
    text_bytes(&t, n->text, strlen(n->text));
    int status = export_folder_text(f, "chat_template.jinja", &t, e);
    text_free(&t);
    return status;
}

static int write_tokenizer(const ExportText *x, const ExportFolder *f, Error *e) {
    static const char *const names[EXPORT_TOKENIZERS] = { "tokenizer.json", "tokenizer.model",
                                                          "tokenizer.tiktoken" };
    int form = export_tokenizer_form(x->file);
    Text t = { 0 };
    int status = text_object_put(&t, x->file, x->bytes, x->length, NULL, e);
    if (!status) status = export_folder_text(f, names[form], &t, e);
    text_free(&t);
    return status;
}

int export_text_write(const ExportText *x, bool cache, const ExportFolder *f, Error *e) {
    int status = write_generation(x, cache, f, e);
    if (status || !x->file) return status;
    status = write_tokenizer(x, f, e);
    if (!status) status = write_config(x, f, e);
    if (!status) status = write_member(x, "special_tokens_map", f, e);
    if (!status) status = write_member(x, "added_tokens", f, e);
    return status ? status : write_template(x, f, e);
}
