/* SPDX-License-Identifier: MIT
** strata tokenizer encode and decode: texts to ids and back, as words or on standard input. */
#include "console.h"
#include "files.h"
#include "tokenizer_command.h"
#include "tokenizer_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tokenizer_of(const Options *o, Tokenizer *t, char **bytes, size_t *length, Error *e) {
    if (o->words < 2)
        return error_set(e, STATUS_USAGE,
                         "strata tokenizer %s: expected a tokenizer's file, found nothing",
                         o->word[0]);
    return tokenizer_open(t, o->word[1], bytes, length, e);
}

/* All of standard input. */
static int use_read_input(Text *t, Error *e) {
    char piece[65536];
    for (;;) {
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return error_set(e, STATUS_IO, "standard input: cannot read: %s", strerror(errno));
        if (!n) return text_status(t, e);
        text_bytes(t, piece, (size_t)n);
        if (t->length > memory_physical() / 2)
            return error_set(e, STATUS_LIMIT,
                             "standard input: expected at most half of the memory, found more");
    }
}

/* No words behind the file, or "-" alone. */
static bool from_input(const Options *o) {
    return o->words == 2 || (o->words == 3 && !strcmp(o->word[2], "-"));
}

/* == Encoding ============================================================= */

static void add_ids(Text *out, const int32_t *id, int64_t count, const char *between) {
    for (int64_t i = 0; i < count; i++)
        text_add(out, "%s%d", i ? between : "", id[i]);
}

/* {"ids": [...], "tokens": [...]}: what each id is for, bytes that are no characters as U+FFFD */
static void add_json(Text *out, const Tokenizer *t, const int32_t *id, int64_t count) {
    Text piece = { 0 };
    text_add(out, "{\"ids\": [");
    add_ids(out, id, count, ", ");
    text_add(out, "], \"tokens\": [");
    for (int64_t i = 0; i < count; i++) {
        Decoder d = { .specials = true, .begun = true };
        const char *text = "";
        int n = t->kind->decode(t, id[i], &d, &text);
        text_clear(&piece);
        text_bytes(&piece, text, n > 0 ? (size_t)n : 0);
        text_add(out, i ? ", " : "");
        text_json_string(out, piece.at ? piece.at : "");
        out->failed = out->failed || piece.failed;
        decoder_free(&d);
    }
    text_add(out, "]}");
    text_free(&piece);
}

static int use_encode(const Options *o, const Tokenizer *t, const char *what, const char *text,
                      size_t length, Text *out, Error *e) {
    TokenIds ids = { .width = sizeof(int32_t),
                     .grows = true,
                     .template = !option_of(o, STRATA_OPTION_BARE)->given };
    char stray[STRAY_WORDS];
    int status = token_ids_encode(&ids, t, what, text, length, e);
    if (!status && *tokenizer_stray(stray, t, what, ids.stray))
        show_line(stderr, "note: ", stray, "");
    if (!status && option_of(o, STRATA_OPTION_TOKENIZER_JSON)->given)
        add_json(out, t, ids.at, ids.count);
    else if (!status) add_ids(out, ids.at, ids.count, " ");
    text_add(out, "\n");
    free(ids.at);
    return status;
}

/* --bare leaves the begin token out with everything else around a text. */
static int check_bare(const Options *o, Error *e) {
    const OptionValue *bos = option_of(o, STRATA_OPTION_TOKENS_BOS);
    if (!option_of(o, STRATA_OPTION_BARE)->given || bos->choice != BEGIN_YES) return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "strata tokenizer encode: expected --bare or --bos yes, found both");
}

int tokenizer_encode_texts(const Options *o, Error *e) {
    Tokenizer t = { 0 };
    Text input = { 0 }, out = { 0 };
    BeginChoice bos = (BeginChoice)option_of(o, STRATA_OPTION_TOKENS_BOS)->choice;
    int status = check_bare(o, e);
    if (!status) status = tokenizer_of(o, &t, NULL, NULL, e);
    if (status) return status;
    status = tokenizer_put_begin(&t, bos, "strata tokenizer encode: --bos", e);
    if (!status && from_input(o)) {
        status = use_read_input(&input, e);
        if (!status)
            status = use_encode(o, &t, "standard input", input.at ? input.at : "", input.length,
                                &out, e);
    }
    for (int i = 2; i < o->words && !status && !from_input(o); i++)
        status = use_encode(o, &t, "TEXT", o->word[i], strlen(o->word[i]), &out, e);
    if (!status) status = console_text(&out, e);
    text_free(&input);
    text_free(&out);
    tokenizer_free(&t);
    return status;
}

/* == Decoding ============================================================= */

/* Ids of a list, which blanks, commas or brackets are between. */
static int read_ids(const Tokenizer *t, char *list, TokenIds *ids, Error *e) {
    static const char between[] = " \t\r\n,[]";
    for (char *rest, *word = strtok_r(list, between, &rest); word;
         word = strtok_r(NULL, between, &rest)) {
        int64_t id;
        if (!parse_int64(word, 0, t->ids - 1, &id))
            return error_set(e, STATUS_USER,
                             "strata tokenizer decode: expected ids from 0 to %d, found '%s'",
                             t->ids - 1, word);
        token_ids_add(ids, (int32_t)id);
    }
    return ids->failed ? error_memory(e, "ids", (size_t)ids->count * sizeof(int32_t)) : STATUS_OK;
}

static int show_text(const Options *o, Text *text, Error *e) {
    if (option_of(o, STRATA_OPTION_TOKENIZER_JSON)->given) {
        Text out = { 0 };
        text_add(&out, "{\"text\": ");
        text_json_string(&out, text->at ? text->at : "");
        text_add(&out, "}\n");
        text_free(text);
        return console_text(&out, e);
    }
    if (isatty(STDOUT_FILENO)) {
        text_add(text, "\n");
        return console_lines(text, e);
    }
    return console_text(text, e);
}

int tokenizer_decode_ids(const Options *o, Error *e) {
    Tokenizer t = { 0 };
    Text input = { 0 }, text = { 0 };
    TokenIds ids = { .width = sizeof(int32_t), .grows = true };
    int status = tokenizer_of(o, &t, NULL, NULL, e);
    if (status) return status;
    if (from_input(o)) {
        status = use_read_input(&input, e);
        if (!status && input.at) status = read_ids(&t, input.at, &ids, e);
    }
    for (int i = 2; i < o->words && !status && !from_input(o); i++)
        status = read_ids(&t, o->word[i], &ids, e);
    if (!status)
        status = tokenizer_decode(&t, ids.at, ids.count,
                                  option_of(o, STRATA_OPTION_SHOW_SPECIAL)->given, &text, e);
    if (!status) status = show_text(o, &text, e);
    text_free(&input);
    text_free(&text);
    free(ids.at);
    tokenizer_free(&t);
    return status;
}
