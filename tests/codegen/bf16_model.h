/* SPDX-License-Identifier: MIT
** The models of tests of --precision bf16. */
#ifndef TESTS_BF16_MODEL_H
#define TESTS_BF16_MODEL_H

#include "compiled_spec.h"

enum { VOCAB = 29, CONTEXT = 300, MODELS = 6 };

typedef struct Bf16Kind {
    const char *name, *residual, *rest, *attention, *mlp;
    int dim; /* in place of the one that bf16_open is given, if not 0 */
} Bf16Kind;

extern const Bf16Kind bf16_kinds[MODELS];

void bf16_open(void **state, Built *b, const Bf16Kind *k, int layers, int dim, CodegenOptions o);

/* Asserts that they are the same finite numbers, bit for bit. */
void same_floats(const char *what, const float *a, const float *b, int64_t count);

#endif
