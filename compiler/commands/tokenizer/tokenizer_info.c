/* SPDX-License-Identifier: MIT
** strata tokenizer info: what a tokenizer's file is. */
#include "chat_template.h"
#include "console.h"
#include "hash.h"
#include "text_words.h"
#include "tokenizer_command.h"
#include "tokenizer_file.h"

#include <stdlib.h>
#include <string.h>

/* What is told of a file. */
typedef struct TokenizerFacts {
    const char *path;
    Tokenizer t;
    size_t bytes; /* of the file */
    char sha256[65];
    int32_t *special; /* ids that are not text */
    int32_t specials, longest, longest_bytes;
    TokenIds around; /* what an empty text becomes */
} TokenizerFacts;

/* Bytes of an id's text in *text, as the file spells special tokens or without them. */
static int info_text_of(const Tokenizer *t, int32_t id, bool specials, const char **text) {
    Decoder d = { .specials = specials, .begun = true };
    *text = "";
    int n = t->kind->decode(t, id, &d, text);
    decoder_free(&d);
    return n > 0 ? n : 0;
}

static int info_look(TokenizerFacts *f, Error *e) {
    const char *text;
    f->special = malloc(((size_t)f->t.ids + 1) * sizeof *f->special);
    if (!f->special) return error_memory(e, f->path, (size_t)f->t.ids * sizeof *f->special);
    for (int32_t id = 0; id < f->t.ids; id++) {
        int n = info_text_of(&f->t, id, false, &text);
        if (n > f->longest_bytes) f->longest = id, f->longest_bytes = n;
        if (!n && info_text_of(&f->t, id, true, &text)) f->special[f->specials++] = id;
    }
    f->around = (TokenIds){ .width = sizeof(int32_t), .grows = true, .template = true };
    return token_ids_encode(&f->around, &f->t, f->path, "", 0, e);
}

static void info_add_tokens(Text *out, const TokenizerFacts *f, const int32_t *id, int64_t count,
                            bool json) {
    for (int64_t i = 0; i < count; i++) {
        text_add(out, i ? ", " : "");
        text_words_token(out, &f->t, id[i], json);
    }
}

static void add_json(Text *out, const TokenizerFacts *f) {
    text_add(out, "{\"file\": ");
    text_json_string(out, f->path);
    text_add(out, ", \"kind\": ");
    text_json_string(out, tokenizer_described(&f->t));
    text_add(out, ", \"bytes\": %zu, \"sha256\": \"%s\", \"ids\": %d, \"special\": [", f->bytes,
             f->sha256, f->t.ids);
    info_add_tokens(out, f, f->special, f->specials, true);
    text_add(out, "], \"around\": [");
    info_add_tokens(out, f, f->around.at, f->around.count, true);
    text_add(out, "], \"end\": ");
    text_words_token(out, &f->t, f->t.end, true);
    text_words_json(out, &f->t);
    text_add(out, ", \"longest\": ");
    text_words_token(out, &f->t, f->longest, true);
    text_add(out, "}\n");
}

enum { SHOWN = 8 }; /* special tokens that are listed */

/* What begins and ends texts, and what a checkpoint's files said besides. */
static void add_facts(Text *out, const TokenizerFacts *f) {
    const TextFacts *x = &f->t.facts;
    text_add(out, "\nbegin     ");
    text_words_token(out, &f->t, x->begin, false);
    if (x->begin >= 0)
        text_add(out,
                 tokenizer_begins_texts(&f->t) ? ", in front of texts"
                                               : ", not in front of texts (--bos yes)");
    text_add(out, "\nend       ");
    info_add_tokens(out, f, x->end, x->ends, false);
    text_add(out, x->ends ? "" : "none");
    if (x->pad >= 0) text_add(out, "\npad       "), text_words_token(out, &f->t, x->pad, false);
    if (x->sampled) text_add(out, "\nsampling  "), text_words_sampling(out, x);
    if (x->template)
        text_add(out, "\ntemplate  %s, %zu bytes", chat_template_name(x->template),
                 strlen(x->template));
}

static void add_lines(Text *out, const TokenizerFacts *f) {
    char bytes[32];
    int32_t shown = f->specials < SHOWN ? f->specials : SHOWN;
    text_add(out, "file      %s, %s (%.12s)\nkind      %s\nids       %d\nspecial   %d", f->path,
             human_bytes(bytes, (double)f->bytes), f->sha256, tokenizer_described(&f->t), f->t.ids,
             f->specials);
    text_add(out, shown ? ": " : "");
    info_add_tokens(out, f, f->special, shown, false);
    text_add(out, f->specials > shown ? ", ...\naround    " : "\naround    ");
    info_add_tokens(out, f, f->around.at, f->around.count, false);
    text_add(out, f->around.count ? "" : "nothing");
    add_facts(out, f);
    text_add(out, "\nlongest   %d bytes: ", f->longest_bytes);
    text_words_token(out, &f->t, f->longest, false);
    text_add(out, "\n");
}

int tokenizer_info(const Options *o, Error *e) {
    TokenizerFacts f = { 0 };
    Text out = { 0 };
    Sha256 h;
    char *bytes = NULL;
    int status = tokenizer_of(o, &f.t, &bytes, &f.bytes, e);
    if (status) return status;
    f.path = o->word[1];
    sha256_start(&h);
    sha256_add(&h, bytes, f.bytes);
    sha256_text(&h, f.sha256);
    free(bytes);
    if (o->words > 2)
        status = error_set(e, STATUS_USAGE, "strata tokenizer info: expected one file, found '%s'",
                           o->word[2]);
    if (!status) status = info_look(&f, e);
    bool json = option_of(o, STRATA_OPTION_TOKENIZER_JSON)->given;
    if (!status && json) add_json(&out, &f);
    else if (!status) add_lines(&out, &f);
    if (!status) status = json ? console_text(&out, e) : console_lines(&out, e);
    text_free(&out);
    free(f.special);
    free(f.around.at);
    tokenizer_free(&f.t);
    return status;
}
