/* SPDX-License-Identifier: MIT
** Writes the tokenizer.json of a vocabulary, as the packages 'tokenizers' and 'transformers' read
** it.
*/
#ifndef STRATA_BPE_FILE_H
#define STRATA_BPE_FILE_H

#include "bpe_trainer.h"
#include "json.h"

/* How text is cut into words before pairs are merged. */
typedef struct BpePattern {
    const char *name;  /* whose it is */
    const char *regex; /* as files have it; one that scanner.h knows */
    bool byte_level;   /* the one that ByteLevel has of its own */
} BpePattern;

/* "gpt2", "llama3", "qwen2"; by the option's choice. */
extern const BpePattern bpe_pattern[];

/* special: how many of the first tokens are special ones. */
void bpe_file_text(Text *t, const BpeVocabulary *v, int special, const BpePattern *pattern);

#endif
