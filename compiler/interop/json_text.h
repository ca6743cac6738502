/* SPDX-License-Identifier: MIT
** Writes JSON that was read back as text.
*/
#ifndef STRATA_JSON_TEXT_H
#define STRATA_JSON_TEXT_H

#include "json.h"

/* A value and all in it, on one line, its numbers as they were written. */
void json_text(Text *t, const Json *j, const JsonNode *n);
/* The same on lines of their own, members in 'depth' * 2 blanks. */
void json_lines(Text *t, const Json *j, const JsonNode *n, int depth);
/* "KEY": in front of a member; 'first' of its object. */
void json_key(Text *t, const char *key, bool *first);

#endif
