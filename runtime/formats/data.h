/* SPDX-License-Identifier: MIT
** Training and evaluation data as tokens.
**   data_files.h   words to files: folders, weights, what a file is
**   documents.h    texts and JSON lines to documents
**   data.h         documents to tokens, which lie where there is room (token_store.h)
**   data_order.h   which tokens a batch has
** The files of a source follow each other as if they were one; where the tokenizer has an end, it
** stands between any two documents, and between any two files.  Without weights all words are one
** source; with them, or apart, each is its own.
*/
#ifndef STRATA_DATA_H
#define STRATA_DATA_H

#include "data_files.h"
#include "token_store.h"

enum { DATA_OPEN = 64 }; /* the user's files that are open at once */

typedef struct DataSegment { /* tokens that lie together */
    int store;
    int64_t at;    /* the first of them in the store */
    int64_t begin; /* and in its source */
} DataSegment;

/* What the sources' tokens are; data_tokens.c makes it. */
typedef struct DataTokens {
    TokenStore *store; /* [0]: what was made of texts; others are files */
    int stores;
    DataSegment *segment;
    int segments;
    int open[DATA_OPEN], turn; /* stores that hold a file open, a ring; 0: none */
} DataTokens;

typedef struct DataSource {
    const char *name; /* a word of the data's files; of several that are one, the option */
    double weight;    /* 0: there are no weights */
    int segment, segments;
    int64_t first, count; /* which of the segments' tokens they are */
    int64_t bytes;        /* of the text that all but the first stand for; 0: not known */
} DataSource;

typedef struct Data {
    DataFiles files;    /* that it was made of; none in a part */
    DataSource *source; /* owned */
    int sources;
    DataTokens *tokens;       /* shared with the parts of data_split */
    int64_t vocab;            /* ids are below it */
    bool owner;               /* of the tokens */
    int64_t encoded, unknown; /* ids made of texts; of them, unknown characters */
    int64_t stray;            /* bytes of the texts that are not UTF-8 */
    int64_t twice;            /* texts that begin with the token that is put in front of them */
} Data;

/* In 'to', returned: that 'what' (a text) begins with the token that is put in front too. */
enum { TWICE_WORDS = 200 };
char *data_twice_words(char to[TWICE_WORDS], const char *what);

/* The same of its texts; "" where none does. */
char *data_twice(char to[TWICE_WORDS], const Data *d);

/* Makes tokens of files, takes these over, and leaves f free to be freed.  't' without a kind does
** for token files. */
int data_tokens(Data *d, DataFiles *f, const Tokenizer *t, int64_t vocab, bool apart, Error *e);
void data_free(Data *d);

int64_t data_count(const Data *d); /* tokens of all sources */

/* The last floor(share * count) tokens of each source are val, the rest train; both are freed, and
** use d's tokens. */
int data_split(const Data *d, double share, Data *train, Data *val, Error *e);

/* An error that names 'what' ("--data", "--val") if a source has not one window of length + 1. */
int data_enough(const Data *d, const char *what, int64_t length, Error *e);

/* Tokens first … first+n-1 of a source, which exist.  STATUS_IO: a file changed. */
int data_read(const Data *d, int source, int64_t first, int64_t n, int32_t *out, Error *e);

/* The text of a source's tokens in bytes, if it is not known: decodes them all. */
int data_measure(Data *d, int source, const Tokenizer *t, Error *e);

/* Evaluation: windows of 'length' predictions one after another and a shorter last one; every
** token of a source but the first is predicted exactly once.  All windows but the last are full. */
int64_t data_windows(const Data *d, int source, int64_t length);
/* Window i into tokens and targets [length]; *n: how many, 1 … length. */
int data_window(const Data *d, int source, int64_t length, int64_t i, int32_t *tokens,
                int32_t *targets, int64_t *n, Error *e);

#endif
