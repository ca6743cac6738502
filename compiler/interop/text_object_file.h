/* SPDX-License-Identifier: MIT
** Reads the object of text_facts.h from a tokenizer's file, for the files that are written from
** it.
*/
#ifndef STRATA_TEXT_OBJECT_FILE_H
#define STRATA_TEXT_OBJECT_FILE_H

#include "tokenizer.h"

/* Of a file's bytes; no nodes where there is none. */
int text_object_parse(Json *j, const char *what, const char *bytes, size_t length, Error *e);
/* Adds a token as the file spells it, as a JSON string. */
void text_json_token(Text *t, const Tokenizer *tokenizer, int32_t id);

#endif
