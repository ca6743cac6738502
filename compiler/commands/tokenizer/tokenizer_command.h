/* SPDX-License-Identifier: MIT
** strata tokenizer: its four commands, each of a word behind it. */
#ifndef STRATA_TOKENIZER_COMMAND_H
#define STRATA_TOKENIZER_COMMAND_H

#include "command.h"
#include "tokenizer.h"

/* The words behind the command's own, from word[1] on. */
int tokenizer_train(const Options *o, Error *e);
int tokenizer_encode_texts(const Options *o, Error *e);
int tokenizer_decode_ids(const Options *o, Error *e);
int tokenizer_info(const Options *o, Error *e);

/* The file behind 'encode' and its like; *bytes, if not NULL, its content, of malloc. */
int tokenizer_of(const Options *o, Tokenizer *t, char **bytes, size_t *length, Error *e);

#endif
