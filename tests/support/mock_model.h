/* SPDX-License-Identifier: MIT
** A model written by hand behind the interface of compiled models (abi.h), small enough
** to be obviously right: the logits of a token depend on it and on the one before,
**   logits[t] = bias + table[x[t]] + previous[x[t-1]]
** Its gradients are exact, its tensors lie in another order in WEIGHTS than in TRAIN,
** and its work is handed out through par_for in a way that must not change the bits.
*/
#ifndef MOCK_MODEL_H
#define MOCK_MODEL_H

#include "abi.h"

typedef struct MockOptions {
    const char *tokenizer; /* "", "bytes", "chars" */
    int32_t vocab, context, batch;
    int32_t inference; /* 1: no training */
    int32_t schedule;
    int64_t nan_at; /* this call of forward_backward gives NaN; 0: none */
    uint64_t spec_hash;
} MockOptions;

/* One model at a time: the next call changes the one before. */
const strata_api *mock_api(const MockOptions *o);

#endif
