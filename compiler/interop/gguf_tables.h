/* SPDX-License-Identifier: MIT
** GGUF metadata for tokenizers from other files than tokenizer.json, by their tables:
** SentencePiece BPE as "llama", the ranks of tiktoken as "gpt2".
*/
#ifndef STRATA_GGUF_TABLES_H
#define STRATA_GGUF_TABLES_H

#include "gguf_file.h"
#include "tokenizer.h"

/* How llama.cpp cuts text that this expression cuts; NULL: it does not. */
const char *gguf_split_of(const char *expression);

/* Tokens, their types, and scores or merges, for 'vocab' ids; what llama.cpp does otherwise is
** refused by name. */
int gguf_tables(Gguf *g, const Tokenizer *t, const char *file, int64_t vocab, Error *e);

/* Where llama.cpp reads some texts otherwise with what was written; NULL: nowhere. */
const char *gguf_tables_note(const Tokenizer *t);

#endif
