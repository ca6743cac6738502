/* SPDX-License-Identifier: MIT
** Writes to standard output, and formats numbers for people.
*/
#ifndef STRATA_CONSOLE_H
#define STRATA_CONSOLE_H

#include "error.h"
#include "json.h"

/* Files 0-2 may be closed at start: nothing that is opened later may land there. Reading such an
** input ends at once, writing such an output fails; nobody is told errors. */
void console_fill_closed(void);

/* Writes everything to standard output.  A reader that went away is no error: *closed
** (may be NULL) tells. */
int console_write(const char *bytes, size_t length, bool *closed, Error *e);
int console_text(Text *t, Error *e); /* writes t and frees it */

/* For people: the same, escaped line by line (escape.h). */
int console_shown(const char *bytes, size_t length, bool *closed, Error *e);
int console_lines(Text *t, Error *e);

/* Of the terminal that this descriptor is; 80 if it is none. */
int console_columns(int file);
/* Leaves so many characters of a text, which is UTF-8. */
void console_cut(char *text, int characters);

/* "12.3 MiB", "45.6k", "3.07M": for people. */
char *human_bytes(char to[32], double bytes);
char *human_count(char to[32], double count);
char *human_flops(char to[32], double flops); /* "3.07 MFLOPs" */

#endif
