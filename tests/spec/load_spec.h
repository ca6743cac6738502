/* SPDX-License-Identifier: MIT
** What tests of the front end share: specs loaded from a file or from text.
*/
#ifndef TEST_LOAD_SPEC_H
#define TEST_LOAD_SPEC_H

#include "spec.h"

/* The head and tail of a spec around its residual and layers. */
#define MODEL(fields) \
    "return model { name = 'm', vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, " fields " }"

char *text_of_file(const char *path); /* malloc'ed; asserts */
Model *load_spec(const char *path);   /* one that is right, or the test fails */
/* Loads a spec given as text, under a name (NAME.lua) in the test's folder (scratch.h). */
Model *load_spec_text(void **state, const char *name, const char *text, const SpecLimits *limits,
                      Error *error);

#endif
