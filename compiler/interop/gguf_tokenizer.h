/* SPDX-License-Identifier: MIT
** GGUF metadata for tokenizers.
*/
#ifndef STRATA_GGUF_TOKENIZER_H
#define STRATA_GGUF_TOKENIZER_H

#include "gguf_file.h"

enum { TOKENIZER_FILE = 128 << 20, TOKENIZER_VALUES = 8 << 20 };

/* A tokenizer's file, for 'vocab' ids: byte-level BPE, SentencePiece BPE, ranks.  What llama.cpp
** does not know is refused by name; *note, NULL or static, says what it does otherwise. */
int gguf_tokenizer(Gguf *g, const char *file, int64_t vocab, const char **note, Error *e);
/* An id a byte. */
void gguf_tokenizer_bytes(Gguf *g, int64_t vocab);

#endif
