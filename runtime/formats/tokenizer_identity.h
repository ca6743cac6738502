/* SPDX-License-Identifier: MIT
** Which tokenizer's file it is: weights that were trained with one say so in their metadata, as
** "tokenizer", its name, and "tokenizer_sha256".
*/
#ifndef STRATA_TOKENIZER_IDENTITY_H
#define STRATA_TOKENIZER_IDENTITY_H

#include "tokenizer.h"

/* Of the bytes of a file that 't' was read from; of a path, its last part is the name. */
void tokenizer_identify(Tokenizer *t, const char *path, const char *bytes, size_t length);

/* The same, of a hash that is known. */
void tokenizer_called(Tokenizer *t, const char *path, const char *sha256);

/* How many of the pairs of metadata there are: 2, or 0 for a tokenizer that is of no file. */
int tokenizer_metadata(const Tokenizer *t, Pair pair[2]);

/* What its ids stand for, in 32 bytes: another for a tokenizer that has other texts, or special
** tokens of other names. */
void tokenizer_fingerprint(const Tokenizer *t, unsigned char to[32]);

/* An error if a file's weights were trained with the file of another tokenizer than 't', which is
** {0} where it is of none.  Weights that say nothing are right. */
int tokenizer_expect(const Safetensors *s, const Tokenizer *t, Error *e);

#endif
