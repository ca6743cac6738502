/* SPDX-License-Identifier: MIT
** The words of training texts, as a pattern cuts them, without special tokens.  Files and folders
** are those of --data (data_files.h), without token files.  Texts are read piece by piece, and
** only distinct words stay in memory.
*/
#ifndef STRATA_TRAINING_WORDS_H
#define STRATA_TRAINING_WORDS_H

#include "bpe_file.h"

typedef struct TrainingText {
    const char *const *file;
    int files;
    const char *field;          /* of JSON lines: their text; NULL: "text" */
    const char *const *special; /* tokens that texts may have, which are no words */
    int specials;
    const BpePattern *pattern;
    int64_t bytes; /* out: of all texts */
} TrainingText;

/* Adds the words of all files.  Files that are empty, no UTF-8, or change while they are read are
** errors. */
int training_words(TrainingText *x, WordCounts *words, Error *e);

#endif
