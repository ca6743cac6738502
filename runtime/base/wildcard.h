/* SPDX-License-Identifier: MIT
** Patterns of names: '*' matches any bytes, dots included, or none; '?' matches one byte; every
** other byte matches itself.
*/
#ifndef STRATA_WILDCARD_H
#define STRATA_WILDCARD_H

#include <stdbool.h>

/* Whether the pattern matches the whole name; in at most the product of their lengths. */
bool wildcard_matches(const char *pattern, const char *name);

#endif
