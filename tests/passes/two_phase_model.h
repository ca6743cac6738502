/* SPDX-License-Identifier: MIT
** The models of tests of two-phase depth reads. */
#ifndef TESTS_TWO_PHASE_MODEL_H
#define TESTS_TWO_PHASE_MODEL_H

#include "spec.h"

enum { VOCAB = 20, APPLIES = 20 };

/* Residuals whose reads it puts together.  Five layers: blocks of 3 and 4 sublayers leave a short
** last one. */
extern const char *const two_phase_applies[APPLIES];

int two_phase_setup(void **state); /* scratch_setup, and the mixers that some of them require */

/* Writes the model's spec to 'text' and returns it. */
const char *two_phase_text(const char *residual, int layers, int dim, char *text, size_t size);
Model *two_phase_load(void **state, const char *residual, int layers, int dim);

#endif
