/* SPDX-License-Identifier: MIT
** Bytes of a text that belong to no UTF-8 character.  If a tokenizer has ids of all bytes, each
** such byte passes through normalizers and expressions as a character of its own, which occurs
** nowhere else in the text, and becomes a byte again when its word becomes ids.
*/
#ifndef STRATA_STRAY_H
#define STRATA_STRAY_H

#include "json.h"

/* How many there are. */
int64_t stray_count(const char *text, size_t length);
/* Adds 'text' with a character for each of them; the first of these characters, of the byte 0.
** 0: the text has characters of all private planes, and nothing was added. */
int32_t stray_hide(Text *out, const char *text, size_t length);
/* Adds 'text' with the bytes that characters from 'first' on stand for.  False: it has none of
** these, and nothing was added. */
bool stray_show(Text *out, int32_t first, const char *text, size_t length);

#endif
