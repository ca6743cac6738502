/* SPDX-License-Identifier: MIT
** See text_words.h. */
#include "text_words.h"

#include <math.h>
#include <string.h>

#include "chat_template.h"
#include "escape.h"

void text_words_token(Text *out, const Tokenizer *t, int32_t id, bool json) {
    Decoder d = { .specials = true, .begun = true };
    const char *text = "";
    char shown[1024];
    Text piece = { 0 };
    if (id < 0) return text_add(out, json ? "null" : "none");
    int n = t->kind->decode(t, id, &d, &text);
    if (n < 0) n = 0;
    text_bytes(&piece, text, (size_t)n);
    if (piece.failed) out->failed = true;
    if (json) {
        text_add(out, "{\"id\": %d, \"bytes\": %d, \"text\": ", id, n);
        text_json_string(out, piece.at ? piece.at : "");
        text_add(out, "}");
    } else {
        text_escape(shown, sizeof shown, text, (size_t)n);
        text_add(out, "%d %s", id, shown);
    }
    text_free(&piece);
    decoder_free(&d);
}

void text_words_number(Text *out, double value) {
    char number[32];
    if (value == floor(value) && fabs(value) < 1e15) text_add(out, "%.0f", value);
    else text_add(out, "%s", print_double(number, value));
}

void text_words_sampling(Text *out, const TextFacts *f) {
    const char *between = "";
    if (f->greedy) text_add(out, "greedy"), between = ", ";
    for (int i = 0; i < SAMPLINGS; i++) {
        if (isnan(f->sampling[i])) continue;
        text_add(out, "%s%s ", between, sampling_name[i]);
        text_words_number(out, f->sampling[i]);
        between = ", ";
    }
}

void text_words_json(Text *out, const Tokenizer *t) {
    const TextFacts *f = &t->facts;
    const char *between = "";
    text_add(out, ", \"begin\": ");
    text_words_token(out, t, f->begin, true);
    text_add(out, ", \"begins_texts\": %s, \"ends\": [",
             tokenizer_begins_texts(t) ? "true" : "false");
    for (int i = 0; i < f->ends; i++) {
        text_add(out, i ? ", " : "");
        text_words_token(out, t, f->end[i], true);
    }
    text_add(out, "], \"pad\": ");
    text_words_token(out, t, f->pad, true);
    text_add(out, ", \"sampling\": {");
    if (f->sampled) {
        text_add(out, "\"greedy\": %s", f->greedy ? "true" : "false");
        between = ", ";
    }
    for (int i = 0; i < SAMPLINGS; i++) {
        if (isnan(f->sampling[i])) continue;
        text_add(out, "%s\"%s\": ", between, sampling_name[i]);
        text_json_number(out, f->sampling[i]);
        between = ", ";
    }
    text_add(out, "}, \"chat_template_bytes\": %zu, \"chat_template_form\": ",
             f->template ? strlen(f->template) : 0);
    const ChatTemplate *form = f->template ? chat_template_family(f->template) : NULL;
    if (form) text_json_string(out, form->name);
    else text_add(out, "null");
}
