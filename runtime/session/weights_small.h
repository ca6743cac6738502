/* SPDX-License-Identifier: MIT
** Matrices of small weights (8 or 4 bits) in WEIGHTS.  Values are rounded (small_round.h), a panel
** at a time, when they are set or read, unless a file has rounded ones (small_file.h).
*/
#ifndef STRATA_WEIGHTS_SMALL_H
#define STRATA_WEIGHTS_SMALL_H

#include "abi.h"
#include "error.h"
#include "small_file.h"

/* 8 or 4; 0: the tensor's weights are not small. */
int weights_small_bits(const strata_tensor *t);
/* "q8" or "q4", as --weights says it; NULL: a model that was built without. */
const char *weights_small_name(const strata_model *m);
/* "bf16" or "q8", what states keep of keys and values; NULL: float32. */
const char *state_cache_name(const strata_model *m);
/* Its initial values; false: there is no memory. */
bool weights_small_init(const strata_model *m, const strata_tensor *t, uint64_t seed, float *w);
/* Whether a file has small weights, *small: of other bits than the model they are an error. */
int weights_small_expect(const strata_model *m, const Safetensors *s, bool *small, Error *e);
/* An error unless a tensor's codes, with what belongs to them, are what the model's tensor is. */
int weights_small_fits(const strata_tensor *t, const Safetensors *s, const Tensor *codes, Error *e);
/* A tensor of floats, or of codes that fit. */
int weights_small_read(const strata_tensor *t, const Safetensors *s, const Tensor *from, float *w,
                       Error *e);

#endif
