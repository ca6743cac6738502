/* SPDX-License-Identifier: MIT
** Golden cases: small models with their parameters, input, and what an
** independent float64 implementation computes from them.  They lie beside the
** project (or where STRATA_GOLDEN says); a checkout without them skips.
*/
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Golden {
    struct Safetensors *file;
    int64_t batch, time, vocab;
    int32_t *tokens, *targets;
} Golden;

/* The path of case 'name' into 'path'; false, and said aloud, if it is not there. */
bool golden_path(const char *name, char *path, size_t size);
void golden_open(Golden *c, const char *path);
void golden_close(Golden *c);
/* Asserting reads: a tensor's values, malloc'ed; its name is PREFIX NAME. */
double *golden_values(const Golden *c, const char *prefix, const char *name, int64_t *count);
/* The same; NULL: the case has none of that name. */
double *golden_values_if(const Golden *c, const char *prefix, const char *name, int64_t *count);
/* Whether it says what gradients are: an evaluation form has none. */
bool golden_has_gradients(const Golden *c);
/* The next parameter from *at on, with its rank and shape; NULL at the end. */
const char *golden_parameter(const Golden *c, int *at, int *rank, const int64_t **shape);

/* The case as a Lua spec, malloc'ed. */
char *golden_spec(const Golden *c, const char *name);

#endif
