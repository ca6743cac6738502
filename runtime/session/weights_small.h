/* SPDX-License-Identifier: MIT
** Matrices of small weights in WEIGHTS: their values are rounded (small_round.h) when they are set
** or read, a panel at a time.
*/
#ifndef STRATA_WEIGHTS_SMALL_H
#define STRATA_WEIGHTS_SMALL_H

#include "abi.h"
#include "error.h"
#include "safetensors.h"

/* 8 or 4; 0: the tensor's weights are not small. */
int weights_small_bits(const strata_tensor *t);
/* "q8" or "q4", as --weights says it; NULL: a model that was built without. */
const char *weights_small_name(const strata_model *m);
/* "bf16" or "q8", what states keep of keys and values; NULL: float32. */
const char *state_cache_name(const strata_model *m);
/* Its initial values; false: there is no memory. */
bool weights_small_init(const strata_model *m, const strata_tensor *t, uint64_t seed, float *w);
/* A tensor of floats. */
int weights_small_read(const strata_tensor *t, const Safetensors *s, const Tensor *from, float *w,
                       Error *e);

#endif
