/* SPDX-License-Identifier: MIT
** Input and output files.
** Output appears whole or not at all: it is written to PATH.strata-tmp (created
** new, locked while a process writes it; one left by a killed process is replaced),
** flushed to the disk, renamed, and the folder flushed.  A target that exists and
** is no regular file (a symbolic link included) is refused.
** Input is checked to be a regular file and not to change while it is read.
*/
#ifndef STRATA_FILES_H
#define STRATA_FILES_H

#include <sys/stat.h>

#include "error.h"

typedef struct Output {
    int fd, folder;    /* -1: closed */
    char *path;        /* as the user wrote it */
    char *name, *temp; /* inside 'folder' */
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
