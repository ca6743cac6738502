/* SPDX-License-Identifier: MIT
** The one rule for files that commands write.  A command never replaces a file that it reads, even
** with --overwrite.  It replaces an existing file only if the same command wrote it, as a mark in
** the file says; --overwrite replaces any other regular file.  An empty file counts as absent.
** Devices such as /dev/null or /dev/stdout are written to.
*/
#ifndef STRATA_PLACE_H
#define STRATA_PLACE_H

#include "files.h"

/* A file that is in the way, its first and its last bytes: where it is short, the same ones. */
enum { PLACE_END = 4096 };
typedef struct PlaceFile {
    Input in;
    char head[PLACE_END + 1], tail[PLACE_END + 1]; /* a zero behind them */
    size_t length;                                 /* of each */
} PlaceFile;

bool place_begins(const PlaceFile *f, const char *text);
bool place_ends(const PlaceFile *f, const char *text);
bool place_holds(const PlaceFile *f, const char *text); /* anywhere in it */

typedef struct FilePlace {
    const char *path;
    const char
        *mark; /* that the command's own files end with; NULL: 'is_own' says, if there is one */
    bool (*is_own)(const PlaceFile *f, const void *user);
    const void *user;
    bool overwrite;
} FilePlace;

/* May it be written?  Before the work, and again before it appears: there may be another file. */
int place_check(const FilePlace *p, Error *e);

/* The same of a page, whose name must not be that of another kind of file: .png, say. */
int place_is_page(const FilePlace *p, Error *e);
/* The ending of a name, in its case: of no page, but of pictures and documents that others draw. */
const char *place_foreign_ending(const char *path);

/* An error if both names are one existing file, or 'in' is what 'out' is written as until it
** appears.  Names may be NULL. */
int place_unread(const char *out, const char *in, Error *e);
int place_unread_all(const char *out, const char *const *in, int n, Error *e);
/* An error if two files would be written to one place. */
int place_distinct(const char *one, const char *other, Error *e);

#endif
