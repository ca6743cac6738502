/* SPDX-License-Identifier: MIT
** Makes text from others safe for a terminal or a log: it makes everything visible that could
** control a terminal or hide something.  That is control characters (DEL and C1 included), marks
** of format and direction, line separators, and bytes that are not UTF-8.
*/
#ifndef STRATA_ESCAPE_H
#define STRATA_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* The first character's bytes (one, where they are no UTF-8); *inert: it may be shown as it is. */
size_t text_character(const char *from, size_t length, bool *inert);

/* Writes \n, \t, \xNN, \uNNNN or \UNNNNNNNN for what is not inert: at most size - 1 bytes and a
** NUL, cut between characters; returns the bytes written. */
size_t text_escape(char *to, size_t size, const char *from, size_t length);

/* The same for a text of several lines: their ends and tabs stay. */
size_t text_escape_lines(char *to, size_t size, const char *from, size_t length);

/* Room that either needs for 'length' bytes. */
static inline size_t text_escape_room(size_t length) { return 4 * length + 1; }

#endif
