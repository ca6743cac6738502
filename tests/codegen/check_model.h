/* SPDX-License-Identifier: MIT
** The models of tests of --check: any residual around one kind of layer. */
#ifndef TESTS_CHECK_MODEL_H
#define TESTS_CHECK_MODEL_H

#include "compiled_spec.h"

enum { V = 13, CONTEXT = 100 };

void check_open(void **state, Built *b, const char *residual, int layers, CodegenOptions o);

#endif
