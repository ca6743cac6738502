/* SPDX-License-Identifier: MIT
** What tells one model from another.
*/
#ifndef STRATA_MODEL_IDENTITY_H
#define STRATA_MODEL_IDENTITY_H

#include "spec.h"

/* SHA-256, in hexadecimal, of what a model is and how it trains: its graph with parameters and
** their initial values, rules, settings, tokenizer, and the compiler's version.  Not of the text
** that said so: comments, names of variables, and messages of the library may change. */
void model_identity(const Model *m, char to[65]);

/* A hash of the operations that make logits of tokens and parameters, never 0: not of where
** parameters begin, nor of anything that is of training alone. */
uint64_t model_function(const Model *m);

#endif
