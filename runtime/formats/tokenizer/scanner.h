/* SPDX-License-Identifier: MIT
** The regular expressions of well-known vocabularies, by hand: several times as fast as
** any library.  Each takes every text apart without gaps.
*/
#ifndef STRATA_SCANNER_H
#define STRATA_SCANNER_H

#include "json.h"

/* Of an expression as files spell it; -1: it is none of these. */
int scanner_find(const char *pattern);
/* The expression of one. */
const char *scanner_pattern(int scanner);
/* Where the part ends that begins at 'at' < length, in valid UTF-8. */
size_t scanner_next(int scanner, const char *text, size_t length, size_t at);

#endif
