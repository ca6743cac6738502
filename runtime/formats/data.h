/*
** Training and evaluation text as tokens.
** Files are concatenated in order.  Which tokens a batch has is a pure function of
** (step, row): nothing to save, nothing that depends on threads or on resuming.
**   sequential   windows of context + 1 tokens from offset 0, stride context; the
**                incomplete tail is dropped, then from 0 again
**   random       start = uniform in [0, N - context - 1] by Philox(data seed, step, row)
*/
#ifndef STRATA_DATA_H
#define STRATA_DATA_H

#include "error.h"
#include "tokenizer.h"

typedef struct DataText { /* the files' bytes, concatenated */
    char *bytes;
    size_t length;
    char sha256[65];         /* of the concatenation */
    const char *const *file; /* the caller's names, in order */
    size_t *end;             /* where each file ends */
    int files;
} DataText;

/* Reads and checks regular files: empty, unreadable, too large for the machine's memory,
** changed while being read are errors.  With 'utf8' (chars) every file must be UTF-8. */
int data_text(DataText *x, const char *const *file, int files, bool utf8, Error *e);
void data_text_free(DataText *x);

typedef struct Data {
    const void *token; /* ids of 'width' bytes: 1, 2 or 4, as the largest needs */
    int width;
    int64_t count;
    int64_t bytes; /* of the text that tokens 1 … count-1 stand for; 0 in a share */
    char sha256[65];
    void *memory; /* owned, or NULL in a share of another Data */
} Data;

/* Tokenises.  Takes x's bytes over where it can (bytes), and leaves x free to be freed. */
int data_tokens(Data *d, DataText *x, const Tokenizer *t, Error *e);
void data_free(Data *d);

/* The last floor(share * count) tokens are val, the rest train; both are views of d. */
int data_split(const Data *d, double share, Data *train, Data *val, Error *e);

/* An error that names 'what' ("--data", "--val") if there is not one window of length + 1. */
int data_enough(const Data *d, const char *what, int64_t length, Error *e);

typedef struct DataOrder {
    bool random;
    uint64_t seed;   /* the data seed */
    int64_t context; /* tokens per row */
    int64_t rows;    /* a step, all micro-batches together */
} DataOrder;

/* First token of row 'row' (0 … rows-1) of step 'step' (from 0). */
int64_t data_start(const Data *d, const DataOrder *o, int64_t step, int64_t row);
/* Rows first … first+count-1 of a step: tokens and targets [count, context]. */
void data_rows(const Data *d, const DataOrder *o, int64_t step, int64_t first, int64_t count,
               int32_t *tokens, int32_t *targets);

/* Evaluation: sequential windows of 'length' predictions and a shorter last one; every
** token but the first is predicted exactly once.  All windows but the last are full. */
int64_t data_windows(const Data *d, int64_t length);
/* Window i into tokens and targets [length]; returns how many, 1 … length. */
int64_t data_window(const Data *d, int64_t length, int64_t i, int32_t *tokens, int32_t *targets);

#endif
