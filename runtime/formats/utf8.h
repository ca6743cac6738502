/* SPDX-License-Identifier: MIT
** UTF-8, one sequence at a time. */
#ifndef STRATA_UTF8_H
#define STRATA_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* Length of the UTF-8 sequence at s (n bytes left), its code point in *point; 0 if invalid. */
int utf8_next(const char *s, size_t n, int32_t *point);

/* How many bytes the character that begins with these n >= 1 has, n at most; 0 if it has more
** and they may follow; -1 if no character begins so. */
int utf8_begins(const unsigned char *s, int n);

/* The error of a byte that is none: "WHAT:byte N: expected UTF-8 …". */
int utf8_bad(const char *what, const char *text, size_t at, Error *e);

#endif
