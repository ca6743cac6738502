/* SPDX-License-Identifier: MIT
** Training of byte-level BPE (arXiv 1508.07909, on bytes): from counted words to a vocabulary.
** Ids are the special tokens in their order, the 256 bytes in the order of the characters that
** stand for them, then merges.  A merge joins the most frequent pair of neighbouring tokens; among
** equals the pair whose left token has the smaller id, then the one whose right token has.  These
** are the rules of the package 'tokenizers', so both make the same vocabulary from a text.
*/
#ifndef STRATA_BPE_TRAINER_H
#define STRATA_BPE_TRAINER_H

#include "word_counts.h"

typedef struct BpeMerge {
    int32_t left, right, made; /* ids */
} BpeMerge;

typedef struct BpeVocabulary {
    WordCounts token; /* by id, as files spell them: a character for each byte */
    BpeMerge *merge;
    int64_t merges, room;
    int64_t text_tokens; /* what the words become, counted as often as they occur */
} BpeVocabulary;

enum { BPE_BYTES = 256 };

/* The characters that stand for bytes in files (GPT-2's): 2 bytes of UTF-8 at most; returns how
** many. */
int bpe_byte_text(int byte, char out[2]);

/* Special tokens, then bytes: what a vocabulary has before its merges.  Special tokens are not
** empty, and none is there twice.  To be freed also after an error. */
int bpe_begin(BpeVocabulary *v, const char *const *special, int specials, Error *e);
/* Merges until there are 'size' tokens, or no pair is left. */
int bpe_train(BpeVocabulary *v, const WordCounts *words, int64_t size, Error *e);
void bpe_free(BpeVocabulary *v);

#endif
