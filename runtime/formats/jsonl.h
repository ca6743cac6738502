/* SPDX-License-Identifier: MIT
** JSON Lines: a JSON value a line, read one after another, never the file at once.
** Lines that hold nothing but blanks are passed over; they count as lines.
*/
#ifndef STRATA_JSONL_H
#define STRATA_JSONL_H

#include "files.h"
#include "json.h"

typedef struct Jsonl {
    Input in;
    char *buffer; /* bytes [start, end) are read and not yet given */
    size_t start, end, room;
    uint64_t at;  /* of the file, where the next bytes are */
    int64_t line; /* of the value given last, from 1 */
    char *place;  /* "FILE:LINE" of it, for messages */
} Jsonl;

/* On failure nothing stays open. */
int jsonl_open(Jsonl *l, const char *path, Error *e);
void jsonl_close(Jsonl *l); /* harmless on {0} */

/* The next value into j, which is freed before; *more is false at the end of the file, where the
** file must be as it was opened. Errors begin with FILE:LINE. */
int jsonl_next(Jsonl *l, Json *j, bool *more, Error *e);

#endif
