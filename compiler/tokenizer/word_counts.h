/* SPDX-License-Identifier: MIT
** Distinct strings in the order in which they were added, each with its count: the words of a
** text, the tokens of a vocabulary.
*/
#ifndef STRATA_WORD_COUNTS_H
#define STRATA_WORD_COUNTS_H

#include "error.h"

typedef struct CountedWord {
    size_t at; /* in 'bytes' */
    uint32_t length, hash;
    int64_t count;
} CountedWord;

typedef struct WordCounts { /* starts as {0} */
    char *bytes;
    size_t used, room; /* of 'bytes' */
    CountedWord *word;
    int64_t words, most; /* how many, and how many there is room for */
    int32_t *slot;       /* hash table: index of a word, -1: none */
    size_t slots;        /* a power of two */
} WordCounts;

/* The index of the word, whose count grows by 'times'; -1: there is no memory, or it is the 2^31st
** word. */
int64_t words_add(WordCounts *w, const char *word, size_t length, int64_t times);
/* with a NUL behind it */
static inline const char *words_text(const WordCounts *w, int64_t i) {
    return w->bytes + w->word[i].at;
}
void words_free(WordCounts *w);

#endif
