/* SPDX-License-Identifier: MIT
** Tokenizers as GGUF's metadata has them. */
#ifndef STRATA_GGUF_TOKENIZER_H
#define STRATA_GGUF_TOKENIZER_H

#include "gguf_file.h"

enum { TOKENIZER_FILE = 128 << 20, TOKENIZER_VALUES = 8 << 20 };

/* A tokenizer.json with byte-level BPE, for 'vocab' ids; what llama.cpp does not know is refused by
** name. */
int gguf_tokenizer(Gguf *g, const char *file, int64_t vocab, Error *e);
/* An id a byte. */
void gguf_tokenizer_bytes(Gguf *g, int64_t vocab);

#endif
