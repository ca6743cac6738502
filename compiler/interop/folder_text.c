/* SPDX-License-Identifier: MIT
** See folder_text.h. */
#include "folder_text.h"

#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "text_facts.h"
#include "utf8.h"

/* == Files ================================================================ */

static int text_add_file(const CheckpointFolder *c, const char *name, Text *t, bool *first,
                         Error *e) {
    char file[64];
    Json j = { 0 };
    bool there;
    print_text(file, sizeof file, "%s.json", name);
    int status = folder_json(c, file, TEXT_OBJECT / 4, TEXT_VALUES / 4, &j, &there, e);
    if (status || !there) return status;
    if (j.node->type != JSON_OBJECT)
        status = error_set(e, STATUS_USER, "%s/%s: expected an object, found %s", c->path, file,
                           json_kind(j.node));
    if (!status) {
        json_key(t, name, first);
        json_text(t, &j, j.node);
    }
    json_free(&j);
    return status;
}

/* A template is kept byte for byte, so it has to be a text. */
static int check_template(const char *path, const char *text, size_t n, Error *e) {
    int32_t ignored;
    for (size_t at = 0, k; at < n; at += k) {
        k = (size_t)utf8_next(text + at, n - at, &ignored);
        if (!k || !text[at])
            return error_set(e, STATUS_USER, "%s:byte %zu: expected UTF-8 without NUL, found %s",
                             path, at, k ? "a NUL" : "something else");
    }
    return STATUS_OK;
}

static int add_template(const CheckpointFolder *c, Text *t, bool *first, Error *e) {
    static const char name[] = "chat_template.jinja";
    char *path, *text = NULL;
    size_t n;
    bool there;
    int status = folder_file(c, name, &path, &there, e);
    if (status || !there) return status;
    status = folder_bytes(path, TEXT_TEMPLATE, &text, &n, e);
    if (!status) {
        text[n] = 0;
        status = check_template(path, text, n, e);
        if (!status) json_key(t, "chat_template", first), text_json_string(t, text);
        free(text);
    }
    free(path);
    return status;
}

/* == The object =========================================================== */

static void add_config(Text *t, const Json *config, bool *first) {
    bool none = true;
    for (int i = 0; text_config_members[i]; i++) {
        const JsonNode *n = json_member(config, config->node, text_config_members[i]);
        if (!n) continue;
        if (none) json_key(t, "config", first), text_add(t, "{");
        json_key(t, text_config_members[i], &none);
        json_text(t, config, n);
    }
    if (!none) text_add(t, "}");
}

int folder_text_object(const CheckpointFolder *c, const Json *config, Text *object, Error *e) {
    static const char *const files[] = { "generation_config", "tokenizer_config",
                                         "special_tokens_map", "added_tokens" };
    bool first = true;
    int status = STATUS_OK;
    text_add(object, "{");
    add_config(object, config, &first);
    for (int i = 0; i < 4 && !status; i++)
        status = text_add_file(c, files[i], object, &first, e);
    if (!status) status = add_template(c, object, &first, e);
    text_add(object, "}");
    if (!status) status = text_status(object, e);
    if (!status && object->length > TEXT_OBJECT)
        status = error_set(e, STATUS_LIMIT,
                           "%s: expected at most %d bytes of what is said of texts, found %zu",
                           c->path, TEXT_OBJECT, object->length);
    if (first) text_clear(object);
    return status;
}
