/* SPDX-License-Identifier: MIT
** Random specs: every mixer and sublayer with options drawn at random, small. */
#ifndef TESTS_FUZZ_SPEC_H
#define TESTS_FUZZ_SPEC_H

#include <stdint.h>

char *fuzz_spec(uint64_t seed); /* Lua, malloc'ed; the same seed, the same text */

#endif
