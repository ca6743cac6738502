/* SPDX-License-Identifier: MIT
** Which tokens a batch has: a pure function of (step, row), so that nothing is saved, and nothing
** depends on threads or on resuming.
**   random       a window that begins at a token drawn uniformly, by Philox of data seed, step, row
**   sequential   windows of context + 1 tokens from the first token on, stride context; the
**                incomplete tail is dropped, then from the first again
**   shuffled     the same windows, each once per epoch, in a permutation by the data seed and the
**                epoch (permutation.h)
** Sources with weights take turns.  Among the first n rows of a run, for every n, a source has its
** share of n to within one row for each source up to it; its rows are its own windows in its own
** order.
*/
#ifndef STRATA_DATA_ORDER_H
#define STRATA_DATA_ORDER_H

#include "data.h"

typedef enum OrderKind { ORDER_RANDOM, ORDER_SEQUENTIAL, ORDER_SHUFFLED, ORDER_KINDS } OrderKind;
extern const char *const order_names[ORDER_KINDS];
OrderKind order_called(const char *name); /* random, of a name that is none */

typedef struct DataOrder {
    OrderKind kind;
    uint64_t seed;   /* the data seed */
    int64_t context; /* tokens per row */
    int64_t rows;    /* a step, all micro-batches together */
} DataOrder;

typedef struct DataPlace {
    int source;
    int64_t start; /* first token in it */
} DataPlace;

/* Of row 'row' (0 … rows-1) of step 'step' (from 0). */
DataPlace data_place(const Data *d, const DataOrder *o, int64_t step, int64_t row);

/* Rows first … first+count-1 of a step: tokens and targets [count, context]. */
int data_rows(const Data *d, const DataOrder *o, int64_t step, int64_t first, int64_t count,
              int32_t *tokens, int32_t *targets, Error *e);

/* How often 'steps' steps go through the tokens of a source. */
double data_epochs(const Data *d, const DataOrder *o, int source, int64_t steps);

#endif
