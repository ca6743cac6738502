/* SPDX-License-Identifier: MIT
** The object of text_facts.h out of a tokenizer's file, for what is written of it. */
#ifndef STRATA_TEXT_OBJECT_FILE_H
#define STRATA_TEXT_OBJECT_FILE_H

#include "tokenizer.h"

/* Of a file's bytes; no nodes where there is none. */
int text_object_parse(Json *j, const char *what, const char *bytes, size_t length, Error *e);
/* Adds a token as the file spells it, as a JSON string. */
void text_json_token(Text *t, const Tokenizer *tokenizer, int32_t id);

#endif
