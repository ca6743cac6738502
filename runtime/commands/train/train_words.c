/* SPDX-License-Identifier: MIT
** Where the data of a run is, the value of --bos, and whether the run ends with weights alone: as
** typed, else as the checkpoint records it.  A checkpoint stores these in a JSON object, with
** names as they were typed.
*/
#include "train.h"

#include "escape.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *key;
    OptionId option;
} asked[] = { { "data", OPTION_DATA }, { "val", OPTION_VAL } };

static DataWords *words_of(RunWords *w, int which) { return which ? &w->val : &w->data; }

/* == Names that are no UTF-8 ============================================== */

/* JSON has only UTF-8: such a name is {"hex": "61ff"}. */
static bool is_utf8(const char *word) {
    size_t length = strlen(word);
    while (length) {
        bool inert;
        size_t n = text_character(word, length, &inert);
        if (n == 1 && (unsigned char)*word >= 0x80) return false;
        word += n, length -= n;
    }
    return true;
}

static void write_word(Text *t, const char *word) {
    if (is_utf8(word)) return text_json_string(t, word);
    text_add(t, "{\"hex\": \"");
    for (; *word; word++)
        text_add(t, "%02x", (unsigned char)*word);
    text_add(t, "\"}");
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The name, at 'to', which has room for half of its digits; NULL: it is none. */
static char *read_hex(const char *text, char *to) {
    char *at = to;
    for (; *text; text += 2, at++) {
        int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);
        if (low < 0 || (!high && !low)) return NULL;
        *at = (char)(high << 4 | low);
    }
    *at = 0;
    return at > to ? to : NULL;
}

/* == What a checkpoint remembers ========================================== */

/* The word that a value is; NULL: none.  *bytes: room for those that are no UTF-8. */
static const char *word_of(const Json *j, const JsonNode *n, char **bytes) {
    if (n->type == JSON_STRING) return n->text;
    const JsonNode *hex = n->type == JSON_OBJECT ? json_member(j, n, "hex") : NULL;
    const char *word = hex && hex->type == JSON_STRING ? read_hex(hex->text, *bytes) : NULL;
    if (word) *bytes += strlen(word) + 1;
    return word;
}

/* The strings of a list, which stay the document's. */
static int take_list(RunWords *w, int which, size_t room, Error *e) {
    const JsonNode *list = json_member(&w->saved, w->saved.node, asked[which].key);
    DataWords *to = words_of(w, which);
    if (!list || list->type != JSON_ARRAY || !list->count) return STATUS_OK;
    const char **word = w->list[which] = calloc(list->count, sizeof *word);
    char *bytes = w->bytes[which] = malloc(room);
    if (!word || !bytes) return error_memory(e, "words", room);
    for (const JsonNode *n = json_first(&w->saved, list); n; n = json_next(&w->saved, n)) {
        const char *text = word_of(&w->saved, n, &bytes);
        if (text) word[to->words++] = text;
    }
    to->word = word;
    w->remembered[which] = to->words > 0;
    return STATUS_OK;
}

static const char *const bos_name[] = { [BEGIN_AUTO] = "auto",
                                        [BEGIN_YES] = "yes",
                                        [BEGIN_NO] = "no" };

/* With another choice the rest of the run would read other tokens. */
static int recall_bos(RunWords *w, const Program *p, const char *path, Error *e) {
    const JsonNode *bos = json_member(&w->saved, w->saved.node, "bos");
    BeginChoice asked = w->bos;
    w->bos = BEGIN_AUTO;
    if (bos && bos->type == JSON_STRING && !strcmp(bos->text, "yes")) w->bos = BEGIN_YES;
    if (bos && bos->type == JSON_STRING && !strcmp(bos->text, "no")) w->bos = BEGIN_NO;
    if (!option(p, OPTION_BOS)->given || asked == w->bos) return STATUS_OK;
    return error_set(e, STATUS_USER, "%s: cannot resume: expected --bos %s, found %s", path,
                     bos_name[asked], bos_name[w->bos]);
}

static int recall(RunWords *w, const Program *p, const char *path, const char *saved, Error *e) {
    enum { MOST = 1 << 20 };
    size_t room = strlen(saved) + 1;
    int status = json_parse(&w->saved, "words", saved, room - 1, MOST, e);
    const JsonNode *field = status ? NULL : json_member(&w->saved, w->saved.node, "field");
    if (!status && !option(p, OPTION_DATA)->given) status = take_list(w, 0, room, e);
    bool val = option(p, OPTION_VAL)->given || option(p, OPTION_VAL_SHARE)->given;
    if (!status && !val) status = take_list(w, 1, room, e);
    bool typed = option(p, OPTION_FIELD)->given;
    if (!typed && field && field->type == JSON_STRING) w->data.field = w->val.field = field->text;
    const JsonNode *only = status ? NULL : json_member(&w->saved, w->saved.node, "weights_only");
    w->weights_only |= only && only->type == JSON_TRUE;
    return status ? status : recall_bos(w, p, path, e);
}

static void write_words(RunWords *w) {
    Text *t = &w->text;
    for (int i = 0; i < 2; i++) {
        const DataWords *d = words_of(w, i);
        text_add(t, "%s\"%s\": [", i ? ", " : "{", asked[i].key);
        for (int k = 0; k < d->words; k++) {
            text_add(t, k ? ", " : "");
            write_word(t, d->word[k]);
        }
        text_add(t, "]");
    }
    text_add(t, ", \"field\": ");
    text_json_string(t, w->data.field);
    if (w->bos) text_add(t, ", \"bos\": \"%s\"", bos_name[w->bos]);
    text_add(t, w->weights_only ? ", \"weights_only\": true}" : "}");
}

int run_words(Run *r, const char *saved, Error *e) {
    RunWords *w = &r->words;
    w->data = program_words(r->p, OPTION_DATA);
    w->val = program_words(r->p, OPTION_VAL);
    w->weights_only = option(r->p, OPTION_WEIGHTS_ONLY)->given;
    w->bos = (BeginChoice)option(r->p, OPTION_BOS)->choice;
    int status = saved ? recall(w, r->p, r->out, saved, e) : STATUS_OK;
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

/* == Texts that were known by their bytes alone =========================== */

/* The last name of a path, without the strokes that end it. */
static int last_name(const char *path, const char **name) {
    size_t n = strlen(path);
    while (n && path[n - 1] == '/')
        n--;
    *name = path + n;
    while (*name > path && (*name)[-1] != '/')
        --*name;
    return (int)(path + n - *name);
}

static const JsonNode *saved_list(const RunWords *w, int which) {
    const JsonNode *list = w->saved.node ? json_member(&w->saved, w->saved.node, asked[which].key)
                                         : NULL;
    return list && list->type == JSON_ARRAY ? list : NULL;
}

/* Are they as many as the run's, of the same names, wherever they are now? */
static bool same_names(const RunWords *w, int which) {
    const DataWords *now = which ? &w->val : &w->data;
    const JsonNode *list = saved_list(w, which), *n = list ? json_first(&w->saved, list) : NULL;
    bool same = list && (int64_t)list->count == now->words;
    for (int i = 0; same && i < now->words; i++, n = json_next(&w->saved, n)) {
        const char *was, *is;
        int length = n->type == JSON_STRING ? last_name(n->text, &was) : -1;
        same = length >= 0 && length == last_name(now->word[i], &is)
            && !memcmp(was, is, (size_t)length);
    }
    return same || w->remembered[which];
}

static int words_joined(const Run *r, int which, const char *was, char now[65], Error *e) {
    const RunWords *w = &r->words;
    const DataFiles *f = which ? &r->val.files : &r->text.files;
    const JsonNode *list = saved_list(w, which);
    if (!(which ? w->val.words : w->data.words) || !f->joined[0] || strcmp(was, f->joined) != 0)
        return STATUS_OK;
    if (f->files == 1 && list && list->count > 1)
        return error_set(e, STATUS_USER,
                         "%s: expected --%s of the %u words that the run was begun with, found one "
                         "file that has all their bytes; a token may stand between files",
                         r->out, asked[which].key, list->count);
    if (f->files > 1 && same_names(w, which)) memcpy(now, was, 65);
    return STATUS_OK;
}

int run_words_joined(const Run *r, const Checkpoint *saved, Checkpoint *now, Error *e) {
    int status = words_joined(r, 0, saved->data_sha256, now->data_sha256, e);
    return status ? status : words_joined(r, 1, saved->val_sha256, now->val_sha256, e);
}

void run_words_free(RunWords *w) {
    for (int i = 0; i < 2; i++)
        free(w->list[i]), free(w->bytes[i]);
    json_free(&w->saved);
    text_free(&w->text);
}
