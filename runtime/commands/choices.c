/* SPDX-License-Identifier: MIT
** See choices.h. */
#include "choices.h"

#include "shell.h"
#include "trained_options.h"

#include <string.h>

static int read_choices(const Program *p, Json *j, Error *e) {
    const char *text = model_text(p, p->m->options);
    return json_parse(j, "the program", text, strlen(text), UINT32_MAX, e);
}

/* -D A=1 -D B=2 */
static void add_choices(const Json *j, Text *t) {
    Text word = { 0 };
    for (const JsonNode *n = json_first(j, j->node); n; n = json_next(j, n)) {
        const char *value = option_value(n);
        if (!value) continue;
        text_clear(&word);
        text_add(&word, "%s=%s", n->key, value);
        text_add(t, " -D ");
        text_shell_word(t, word.at ? word.at : "");
    }
    if (word.failed) t->failed = true;
    text_free(&word);
}

static int check_choices(const Json *j, const char *given, Error *e) {
    char name[OPTION_PAIR + 1];
    const char *word = strchr(given, '=') + 1;
    Text built = { 0 };
    print_text(name, sizeof name, "%.*s", (int)(word - given - 1), given);
    const JsonNode *n = json_member(j, j->node, name);
    if (n && option_value_is(n, word)) return STATUS_OK;
    add_choices(j, &built);
    if (n)
        error_set(e, STATUS_USER,
                  "-D %s: expected %s, which the program was built with, found '%s'; strata build "
                  "SPEC -D %s builds another",
                  name, option_value(n) ? option_value(n) : "no value", word, given);
    else
        error_set(e, STATUS_USER,
                  "-D %s: expected an option of the spec, found none; it was built with%s", name,
                  built.length ? built.at : " no options");
    text_free(&built);
    return e->status;
}

/* --changed names options that there are. */
static int check_changed(const Json *j, const char *names, Error *e) {
    for (const char *at = names; at && *at;) {
        char name[OPTION_PAIR + 1];
        size_t n = strcspn(at, ",");
        print_text(name, sizeof name, "%.*s", (int)n, at);
        if (!json_member(j, j->node, name))
            return error_set(e, STATUS_USER,
                             "--changed: expected names of options of the spec with commas, found "
                             "'%s'",
                             name);
        at += n + (at[n] == ',');
    }
    return STATUS_OK;
}

int choices_check(const Program *p, Error *e) {
    const OptionValue *given = option(p, OPTION_DEFINE), *changed = option(p, OPTION_CHANGED);
    Json j = { 0 };
    if (!given->given && !changed->given) return STATUS_OK;
    int status = read_choices(p, &j, e);
    for (int i = 0; !status && i < given->length; i++)
        status = check_choices(&j, given->list[i], e);
    if (!status) status = check_changed(&j, changed->text, e);
    json_free(&j);
    return status;
}

void choices_line(const Program *p, Text *t) {
    Json j = { 0 };
    if (read_choices(p, &j, NULL) || !json_first(&j, j.node)) return json_free(&j);
    text_add(t, "options     ");
    add_choices(&j, t);
    text_add(t, "\n");
    json_free(&j);
}
