/* SPDX-License-Identifier: MIT
** The tokenizer of a program: the file of --tokenizer, else the file that its spec names, which
** the program contains, else the kind that the spec names.
*/
#ifndef STRATA_PROGRAM_TOKENIZER_H
#define STRATA_PROGRAM_TOKENIZER_H

#include "safetensors.h"
#include "standalone.h"

/* A tokenizer from a file, of --tokenizer or carried, into 't', which is to be freed; it stays {0}
** where there is no file.  Weights (NULL: none) of another tokenizer are refused, unless it is
** --tokenizer that says so. */
int program_tokenizer_open(const Program *p, const Safetensors *weights, Tokenizer *t, Error *e);

/* The same for weights that are there, of which the kind that the spec names is loaded where there
** is no file; 't' stays {0} where it names none. */
int program_tokenizer_load(const Program *p, const Safetensors *weights, Tokenizer *t, Error *e);

/* What --bos says, of a tokenizer that is no file's; an error where it cannot be. */
int program_tokenizer_begins(const Program *p, Tokenizer *t, Error *e);

/* "the prompt begins with <s>, which ...": text that begins with the token that is put in front
** of it; "" where it does not. */
char *program_tokenizer_twice(char to[TWICE_WORDS], const Tokenizer *t, const char *what,
                              const char *text, size_t length);

/* SHA-256 of the file that this program carries, in hexadecimal; NULL: it carries none. */
const char *program_tokenizer_hash(void);

#endif
