/* SPDX-License-Identifier: MIT
** What must hold of any tokenizer's file, whatever is in it. */
#ifndef TESTS_TOKENIZER_PROMISES_H
#define TESTS_TOKENIZER_PROMISES_H

#include "error.h"

/* Reads a file, called "file", of which 'pattern' is not NULL a .tiktoken's: 1 if it is accepted,
** and its ids of some texts are in range, the same again, and decode to UTF-8; else *e, which may
** be NULL, says why. */
int tokenizer_promises(const char *bytes, size_t length, const char *pattern, Error *e);

#endif
