/* SPDX-License-Identifier: MIT
** What tells one model from another.
*/
#ifndef STRATA_MODEL_IDENTITY_H
#define STRATA_MODEL_IDENTITY_H

#include "spec.h"

/* SHA-256, in hexadecimal, of a model and its training: the graph with parameters and their initial
** values, rules, settings, tokenizer, and the compiler's version.  It does not depend on the text
** of the spec: comments, names of variables, and messages of the library may change. */
void model_identity(const Model *m, char to[65]);

/* A hash of the operations that compute logits from tokens and parameters, never 0.  It depends
** neither on initial values nor on anything that only training uses. */
uint64_t model_function(const Model *m);

#endif
