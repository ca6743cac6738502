/* SPDX-License-Identifier: MIT
** See trained_options.h. */
#include "trained_options.h"

#include "shell.h"

#include <string.h>

enum { OPTIONS_BYTES = 1 << 20 };

const char *option_value(const JsonNode *n) {
    switch (n->type) {
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: return NULL;
    default: return n->text;
    }
}

bool option_value_is(const JsonNode *n, const char *text) {
    const char *value = option_value(n);
    double own, given;
    if (n->type == JSON_NUMBER && json_double(n, &own)
        && parse_double(text, -__builtin_inf(), __builtin_inf(), &given))
        return own == given;
    return value && !strcmp(value, text);
}

static bool is_same(const JsonNode *a, const JsonNode *b) {
    const char *text = option_value(b);
    return text ? option_value_is(a, text) : !option_value(a);
}

bool option_is_listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ",");
        if (n == length && !strncmp(at, name, n)) return true;
        at += n + (at[n] == ',');
    }
    return false;
}

/* What differs, in four ways of saying it. */
typedef struct Differences {
    Text trained, now, type, names;
    int count;
} Differences;

static void trained_options_add_word(Text *t, const char *before, const char *name,
                                     const char *value) {
    Text word = { 0 };
    text_add(&word, "%s=%s", name, value);
    text_add(t, "%s", before);
    text_shell_word(t, word.at ? word.at : "");
    if (word.failed) t->failed = true;
    text_free(&word);
}

static void options_add_difference(Differences *d, const JsonNode *trained, const JsonNode *now) {
    const char *was = option_value(trained), *is = option_value(now), *name = trained->key;
    const char *and = d->count++ ? "," : "";
    if (was)
        trained_options_add_word(&d->trained, " -D ", name, was),
            trained_options_add_word(&d->type, " -D ", name, was);
    else text_add(&d->trained, " no %s", name), text_add(&d->type, " no -D %s", name);
    text_add(&d->now, "%s", and);
    if (is) trained_options_add_word(&d->now, " ", name, is);
    else text_add(&d->now, " no %s", name);
    text_add(&d->names, "%s%s", and, name);
}

static int options_refuse(const Safetensors *s, const ReadingModel *m, const Differences *d,
                          Error *e) {
    Text t = { 0 };
    const char *trained = d->trained.at, *now = d->now.at, *type = d->type.at, *name = d->names.at;
    if (!trained || !now || !type || !name) return error_memory(e, s->path, 0);
    text_add(&t, "%s: was trained with%s, found%s", s->path, trained, now);
    if (m->spec) text_add(&t, " in %s; type%s", m->spec, type);
    else text_add(&t, ", which the program was built with; strata build SPEC%s", type);
    if (!m->goes_on) text_add(&t, ", or --changed %s where the other value is meant", name);
    int status = text_status(&t, e);
    if (!status) status = error_set(e, STATUS_USER, "%s", t.at);
    text_free(&t);
    return status;
}

static int options_compare(const Safetensors *s, const ReadingModel *m, const Json *was,
                           const Json *is, Error *e) {
    Differences d = { 0 };
    int status = STATUS_OK;
    for (const JsonNode *n = json_first(was, was->node); n; n = json_next(was, n)) {
        const JsonNode *now = json_member(is, is->node, n->key);
        if (now && !is_same(n, now) && !option_is_listed(m->changed, n->key))
            options_add_difference(&d, n, now);
    }
    if (d.count) status = options_refuse(s, m, &d, e);
    text_free(&d.trained), text_free(&d.now), text_free(&d.type), text_free(&d.names);
    return status;
}

static bool is_function(const Safetensors *s, uint64_t function) {
    const char *text = safetensors_metadata(s, "function");
    uint64_t known;
    return text && parse_uint64(text, &known) && known && known == function;
}

int trained_options_check(const Safetensors *s, const ReadingModel *m, Error *e) {
    const char *saved = safetensors_metadata(s, "options");
    Json was = { 0 }, is = { 0 };
    if (!saved || is_function(s, m->function)) return STATUS_OK;
    int status = json_parse(&was, s->path, saved, strlen(saved), OPTIONS_BYTES, e);
    if (!status) status = json_parse(&is, "options", m->options, strlen(m->options), UINT32_MAX, e);
    if (!status && was.node->type == JSON_OBJECT) status = options_compare(s, m, &was, &is, e);
    json_free(&was), json_free(&is);
    return status;
}
