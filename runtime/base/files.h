/* SPDX-License-Identifier: MIT
** Input and output files.
**
** Output appears whole or not at all.  It is written to PATH.strata-tmp, flushed to the disk and
** renamed, and the folder is flushed.  The temporary file is created new and locked while a
** process writes it; one that a killed process left is removed (temporary.h).  A target that exists
** and is no regular file (a symbolic link included) is refused, except devices such as /dev/null,
** /dev/stdout and /dev/fd/N, which are written directly.  place.h says which files may be replaced.
**
** Input is checked to be a regular file and not to change while it is read.
*/
#ifndef STRATA_FILES_H
#define STRATA_FILES_H

#include <stdio.h>
#include <sys/stat.h>

#include "error.h"

typedef struct Output {
    int fd, folder;    /* -1: closed, a stream has no folder */
    char *path;        /* as the user wrote it */
    char *name, *temp; /* inside 'folder' */
    uint64_t begin;    /* of a stream: where this output began in it */
    struct Output *next;
} Output;

int output_open(Output *o, const char *path, Error *e);
int output_write(Output *o, const void *bytes, size_t n, Error *e);
/* overwrites what was written */
int output_patch(Output *o, uint64_t at, const void *bytes, size_t n, Error *e);
/* Makes the file appear.  keep_previous: what PATH was before becomes PATH.prev, and at
** no moment is there neither; else it is replaced.  Frees o, also on failure. */
int output_commit(Output *o, bool keep_previous, Error *e);
void output_discard(Output *o); /* removes what was written; harmless after commit */

/* Refuses what output_open would refuse, without writing: to fail before hours of work. */
int output_check(const char *path, bool keep_previous, Error *e);

/* Whether what is written there is no file that appears, but goes on to somebody. */
bool output_is_stream(const char *path);

/* Names what killed commands left in the folder of a path that is going to be written. */
void output_tell_left(const char *path);

/* For programs, not for libraries: what killed commands left beside what is written is told to
** 'notes', NULL: it is not; and from now on SIGINT, SIGTERM and SIGHUP, where they are not
** ignored, remove what this process, which writes from one thread, has begun to write, and end it.
** A process that it forks asks for itself.  Between hold and release such a signal waits, so that
** several files appear together. */
void output_guard(FILE *notes);
void output_hold(void);
void output_release(void);

/* A descriptor above 2, even where the standard three were closed at start: what is printed must
** not land in a file.  The one that is given is closed. */
int file_above_standard(int fd);
/* "a folder", "a pipe" */
const char *file_kind(const struct stat *s);

typedef struct Input {
    int fd;           /* -1: closed */
    const char *path; /* the caller's */
    struct stat before;
} Input;

/* Opens a regular file; never blocks on a pipe or a device. */
int input_open(Input *in, const char *path, Error *e);
/* Exactly n bytes from 'at'; a file that ends before is an error. */
int input_read(const Input *in, uint64_t at, void *to, size_t n, Error *e);
/* Fails if size or time of change differ from when it was opened. */
int input_unchanged(const Input *in, Error *e);
void input_close(Input *in);

/* Physical memory in bytes; what is read whole is refused beyond a share of it. */
uint64_t memory_physical(void);
/* The processor's name, as the system tells it; "unknown". */
void processor_name(char *out, size_t size);
/* The load of a machine with so many processors that does nothing else; its own load of the minute
** before where that is more, else 0. */
double load_quiet(int processors);
double load_of_others(void);

#endif
