/* SPDX-License-Identifier: MIT
** What a spec with stored weights computes, by the float64 interpreter. */
#ifndef TESTS_STORED_LOGITS_H
#define TESTS_STORED_LOGITS_H

#include <stdint.h>

#include "spec.h"

/* Logits of [batch, time] tokens with the weights of a safetensors file, to be freed; 'count': how
** many there are.  NULL: 'e' says why. */
double *stored_logits(const Model *m, const char *weights, int64_t batch, int64_t time,
                      const int32_t *tokens, int64_t *count, Error *e);

#endif
