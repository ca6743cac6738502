/* SPDX-License-Identifier: MIT
** Describes in words what a tokenizer does with texts, for commands that show a tokenizer.
*/
#ifndef STRATA_TEXT_WORDS_H
#define STRATA_TEXT_WORDS_H

#include "tokenizer.h"

/* Adds "ID TEXT" of a token, escaped for a line, or as JSON; -1: "none", or null. */
void text_words_token(Text *out, const Tokenizer *t, int32_t id, bool json);
/* Adds members, each with a comma in front: begin, begins_texts, ends, pad, sampling,
** chat_template_bytes, chat_template_form. */
void text_words_json(Text *out, const Tokenizer *t);
/* Adds "0.6": shortest, whole numbers as such. */
void text_words_number(Text *out, double value);
/* Adds "temperature 0.6, top_p 0.9"; nothing where nothing is recommended. */
void text_words_sampling(Text *out, const TextFacts *f);

#endif
