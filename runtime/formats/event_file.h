/* SPDX-License-Identifier: MIT
** Event files for TensorBoard: scalars by step, and texts.  A resumed run writes a new file into
** the same folder; its first event says at which step it continues, so that the reader ignores
** later steps of earlier files.
*/
#ifndef STRATA_EVENT_FILE_H
#define STRATA_EVENT_FILE_H

#include "json.h"

typedef struct EventFile {
    int fd; /* -1: none */
    char *path;
    Text value, summary, event, record; /* what one write is made in */
} EventFile;

typedef struct EventScalar {
    const char *tag;
    double value;
} EventScalar;

/* Makes 'folder', unless it is there, and a new file in it; folder NULL: keeps nothing.
** step: after which the run goes on, 0 at the start. */
int event_file_open(EventFile *f, const char *folder, int64_t step, Error *e);
/* One event with so many scalars; one write. */
int event_file_add(EventFile *f, int64_t step, const EventScalar *scalar, int count, Error *e);
/* One event with a text, which the reader takes for Markdown; one write. */
int event_file_text(EventFile *f, int64_t step, const char *tag, const char *text, Error *e);
void event_file_close(EventFile *f);

#endif
