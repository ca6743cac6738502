/* SPDX-License-Identifier: MIT
** JSON values read one after another without loading the file: the lines of JSON Lines, or the
** elements of the array in a .json file.  Blank lines are skipped, but counted.
*/
#ifndef STRATA_JSONL_H
#define STRATA_JSONL_H

#include "json.h"
#include "stream.h"

typedef struct Jsonl {
    Stream in;
    bool array;
    bool closed;  /* the array's ']' was read */
    char *buffer; /* bytes [start, end) are read and not yet given */
    size_t start, end, room;
    int64_t line; /* of the value given last, from 1; of an array its number */
    char *place;  /* "FILE:LINE" or "FILE:element N" of it, for messages */
} Jsonl;

enum { JSONL_VALUES = 1 << 20 }; /* in a line */

/* Do the first bytes of a file of this name begin an array?  Its name ends in .json, before what
** says that it is compressed. */
bool jsonl_is_array(StreamForm form, const char *path, const unsigned char *head, size_t n);

/* On failure nothing stays open.  What is no text is refused. */
int jsonl_open(Jsonl *l, const char *path, Error *e);
/* The same of a stream, which becomes the reader's. */
int jsonl_start(Jsonl *l, const Stream *in, bool array, Error *e);
void jsonl_close(Jsonl *l); /* harmless on {0} */

/* The next value into j, which is freed before; *more is false at the end of the file, where the
** file must be as it was opened. Errors begin with the place. */
int jsonl_next(Jsonl *l, Json *j, bool *more, Error *e);

#endif
