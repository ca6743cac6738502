/* SPDX-License-Identifier: MIT
** One compiled model, an instance of it and tokens, for tests of the object's functions. */
#ifndef TESTS_OBJECT_H
#define TESTS_OBJECT_H

#include "compiled_spec.h"

enum { VOCAB = 29, CONTEXT = 150, BATCH = 3, TIME = 101, TOKENS = BATCH * TIME };

extern const char object_lua[];

typedef struct Object {
    Built b;
    Instance r;
    int32_t *tokens, *targets; /* [BATCH, TIME] */
} Object;

extern Object object;          /* between the fixtures */
int open_object(void **state); /* *state: a scratch folder */
int close_object(void **state);

#endif
