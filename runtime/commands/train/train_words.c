/* SPDX-License-Identifier: MIT
** Where the data of a run is, and whether it ends in weights alone: what is typed, else what the
** checkpoint remembers of what was.  A checkpoint has it as a JSON object, with names as they were
** typed.
*/
#include "train.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *key;
    OptionId option;
} asked[] = { { "data", OPTION_DATA }, { "val", OPTION_VAL } };

static DataWords *words_of(RunWords *w, int which) { return which ? &w->val : &w->data; }

/* The strings of a list, which stay the document's. */
static int take_list(RunWords *w, int which, Error *e) {
    const JsonNode *list = json_member(&w->saved, w->saved.node, asked[which].key);
    DataWords *to = words_of(w, which);
    if (!list || list->type != JSON_ARRAY || !list->count) return STATUS_OK;
    const char **word = w->list[which] = calloc(list->count, sizeof *word);
    if (!word) return error_memory(e, "words", list->count * sizeof *word);
    for (const JsonNode *n = json_first(&w->saved, list); n; n = json_next(&w->saved, n))
        if (n->type == JSON_STRING) word[to->words++] = n->text;
    to->word = word;
    w->remembered[which] = to->words > 0;
    return STATUS_OK;
}

static int recall(RunWords *w, const Program *p, const char *saved, Error *e) {
    enum { MOST = 1 << 20 };
    int status = json_parse(&w->saved, "words", saved, strlen(saved), MOST, e);
    const JsonNode *field = status ? NULL : json_member(&w->saved, w->saved.node, "field");
    if (!status && !option(p, OPTION_DATA)->given) status = take_list(w, 0, e);
    bool val = option(p, OPTION_VAL)->given || option(p, OPTION_VAL_SHARE)->given;
    if (!status && !val) status = take_list(w, 1, e);
    bool typed = option(p, OPTION_FIELD)->given;
    if (!typed && field && field->type == JSON_STRING) w->data.field = w->val.field = field->text;
    const JsonNode *only = status ? NULL : json_member(&w->saved, w->saved.node, "weights_only");
    w->weights_only |= only && only->type == JSON_TRUE;
    return status;
}

static void write_words(RunWords *w) {
    Text *t = &w->text;
    for (int i = 0; i < 2; i++) {
        const DataWords *d = words_of(w, i);
        text_add(t, "%s\"%s\": [", i ? ", " : "{", asked[i].key);
        for (int k = 0; k < d->words; k++) {
            text_add(t, k ? ", " : "");
            text_json_string(t, d->word[k]);
        }
        text_add(t, "]");
    }
    text_add(t, ", \"field\": ");
    text_json_string(t, w->data.field);
    text_add(t, w->weights_only ? ", \"weights_only\": true}" : "}");
}

int run_words(Run *r, const char *saved, Error *e) {
    RunWords *w = &r->words;
    w->data = program_words(r->p, OPTION_DATA);
    w->val = program_words(r->p, OPTION_VAL);
    w->weights_only = option(r->p, OPTION_WEIGHTS_ONLY)->given;
    int status = saved ? recall(w, r->p, saved, e) : STATUS_OK;
    if (!status && !w->data.words) status = options_require(&r->p->options, OPTION_DATA, e);
    if (status) return status;
    write_words(w);
    r->state.words = w->text.at;
    return text_status(&w->text, e);
}

int run_words_lost(const Run *r, OptionId id, int status, Error *e) {
    int which = id == OPTION_VAL;
    if (!r->words.remembered[which]) return status;
    error_line(e, "the run was begun with it; --%s says where it is now", asked[which].key);
    return status;
}

void run_words_free(RunWords *w) {
    for (int i = 0; i < 2; i++)
        free(w->list[i]);
    json_free(&w->saved);
    text_free(&w->text);
}
