/* SPDX-License-Identifier: MIT
** Data of files of a test. */
#ifndef TEST_DATA_WORDS_H
#define TEST_DATA_WORDS_H

#include "data.h"

enum { DATA_WORDS_MOST = 8 };

/* Words with spaces between, of which '@' stands for the folder: "@/a @/b:0.3". */
typedef struct DataNames {
    char text[2048];
    const char *word[DATA_WORDS_MOST];
    int words;
} DataNames;

DataWords data_names(DataNames *n, void **state, const char *text);
/* Opens and tokenises them; 't' NULL: bytes, of a vocabulary of 256. */
int data_of(Data *d, void **state, const char *text, const Tokenizer *t, bool apart, Error *e);
/* A token file of ids, of which a value of 2^31 and more is written as it is. */
void data_write_tokens(const char *path, int width, const uint32_t *ids, int64_t count);

#endif
