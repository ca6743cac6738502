/* SPDX-License-Identifier: MIT
** strata tokenizer train: from texts to a tokenizer.json. */
#include "bpe_file.h"
#include "console.h"
#include "publish.h"
#include "tokenizer_command.h"
#include "training_words.h"

#include <stdlib.h>
#include <string.h>

/* What a run has. */
typedef struct TokenizerTraining {
    TrainingText text;
    WordCounts words;
    BpeVocabulary vocabulary;
    int64_t size;
    FilePlace place;
    char *specials; /* the option's value, cut at commas */
    const char **special;
} TokenizerTraining;

static int bad_special(const char *expected, const char *found, Error *e) {
    return error_set(e, STATUS_USAGE, "strata tokenizer train: --special: expected %s, found '%s'",
                     expected, found);
}

/* "A,B": neither empty nor twice, and on one line, as texts are cut at lines. */
static int read_special(TokenizerTraining *t, const char *list, Error *e) {
    size_t most = 1;
    for (const char *s = list; *s; s++)
        most += *s == ',';
    t->specials = strdup(list);
    t->special = calloc(most, sizeof *t->special);
    if (!t->specials || !t->special) return error_memory(e, "--special", strlen(list));
    if (strpbrk(list, "\r\n")) return bad_special("tokens without line breaks", list, e);
    int n = 0;
    for (char *s = t->specials, *next; *list && s; s = next) {
        next = strchr(s, ',');
        if (next) *next++ = 0;
        if (!*s) return bad_special("tokens between commas", list, e);
        for (int i = 0; i < n; i++)
            if (!strcmp(s, t->special[i])) return bad_special("each token once", s, e);
        t->special[n++] = s;
    }
    t->text.special = t->special;
    t->text.specials = n;
    return STATUS_OK;
}

/* A tokenizer bears no mark of who made it, and token files and weights depend on it. */
static int train_check_output(const TokenizerTraining *t, Error *e) {
    int status = place_unread_all(t->place.path, t->text.file, t->text.files, e);
    return status ? status : place_check(&t->place, e);
}

static int read_training(TokenizerTraining *t, const Options *o, Error *e) {
    const char *output = option_of(o, STRATA_OPTION_TOKENIZER_OUTPUT)->text;
    *t = (TokenizerTraining){ .size = option_of(o, STRATA_OPTION_VOCAB)->count,
                              .place = {
                                  .path = output ? output : "tokenizer.json",
                                  .overwrite = option_of(o, STRATA_OPTION_OVERWRITE)->given } };
    t->text.file = (const char *const *)o->word + 1;
    t->text.files = o->words - 1;
    t->text.field = option_of(o, STRATA_OPTION_FIELD)->text;
    t->text.pattern = &bpe_pattern[option_of(o, STRATA_OPTION_PATTERN)->choice];
    int status = options_require(o, STRATA_OPTION_VOCAB, e);
    if (!status) status = read_special(t, option_of(o, STRATA_OPTION_SPECIAL)->text, e);
    if (status) return status;
    if (!t->text.files)
        return error_set(e, STATUS_USAGE, "strata tokenizer train: expected texts, found none");
    if (t->size < BPE_BYTES + t->text.specials)
        return error_set(e, STATUS_USER,
                         "strata tokenizer train: --vocab: expected at least %d, 256 bytes and %d "
                         "special, found %lld",
                         BPE_BYTES + t->text.specials, t->text.specials, (long long)t->size);
    return train_check_output(t, e);
}

static int write_vocabulary(const TokenizerTraining *t, Error *e) {
    Text file = { 0 };
    bpe_file_text(&file, &t->vocabulary, t->text.specials, t->text.pattern);
    int status = text_status(&file, e);
    if (!status) status = publish_text(&t->place, &file, e);
    text_free(&file);
    return status;
}

static int show_result(const TokenizerTraining *t, Error *e) {
    const BpeVocabulary *v = &t->vocabulary;
    char bytes[32];
    Text text = { 0 };
    text_add(&text, "%s: %lld tokens: %d special, %d bytes, %lld merges; pattern %s\n",
             t->place.path, (long long)v->token.words, t->text.specials, BPE_BYTES,
             (long long)v->merges, t->text.pattern->name);
    text_add(&text, "text: %s, %lld distinct words, %.3f bytes per token\n",
             human_bytes(bytes, (double)t->text.bytes), (long long)t->words.words,
             (double)t->text.bytes / (double)(v->text_tokens ? v->text_tokens : 1));
    if (v->token.words < t->size)
        text_add(&text, "note: the text has no more pairs to merge: expected %lld tokens\n",
                 (long long)t->size);
    return console_lines(&text, e);
}

int tokenizer_train(const Options *o, Error *e) {
    TokenizerTraining t;
    int status = read_training(&t, o, e);
    if (!status) status = training_words(&t.text, &t.words, e);
    if (!status) status = bpe_begin(&t.vocabulary, t.special, t.text.specials, e);
    if (!status) status = bpe_train(&t.vocabulary, &t.words, t.size, e);
    if (!status) status = write_vocabulary(&t, e);
    if (!status) status = show_result(&t, e);
    words_free(&t.words);
    bpe_free(&t.vocabulary);
    free(t.specials);
    free(t.special);
    return status;
}
