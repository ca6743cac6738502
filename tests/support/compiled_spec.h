/* SPDX-License-Identifier: MIT
** Specs as loaded libraries, for tests that ask questions of whole models. */
#ifndef TESTS_COMPILED_SPEC_H
#define TESTS_COMPILED_SPEC_H

#include "compiled.h"
#include "spec.h"

/* A spec's model and its library. */
typedef struct Built {
    Model *m;
    Compiled c;
} Built;

/* What the compiler is told of a model beside its graph. */
ModelInfo spec_info(const Model *m);

/* Writes the text, if there is one, to 'path', and compiles that; aborts, as compiled.h does. */
void built_open(Built *b, const char *path, const char *lua, const CodegenOptions *o);
void built_close(Built *b);

/* Weights that depend on the seed and a parameter's name only, of both signs. */
void instance_fill(Instance *r, uint64_t seed);
/* All parameters whose name ends so. */
void instance_set(Instance *r, const char *ending, float value);

/* Ids below the model's vocabulary, malloc'ed. */
int32_t *some_ids(const Compiled *c, uint64_t seed, int64_t count);
/* Calls that must succeed; results malloc'ed, all of the first third of TRAIN for gradients. */
float *logits_of(Instance *r, const int32_t *tokens, int64_t batch, int64_t time);
float *gradients_of(Instance *r, const int32_t *tokens, const int32_t *targets, int64_t batch,
                    int64_t time, strata_loss *loss);
int64_t gradient_floats(const Compiled *c);
/* Logits of sequences of which prompt[i] tokens come by prefill and the others by decode, of all
** sequences that have more at once: from the prompt's last position on, zeros before. For as many
** as the arena has room for. */
float *decoded_logits(Instance *r, const int32_t *tokens, int batch, int64_t time,
                      const int *prompt);

/* The largest difference, relative to the largest of b. */
double difference(const float *a, const float *b, int64_t count);

#endif
