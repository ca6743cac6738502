/* SPDX-License-Identifier: MIT
** Finished files to their places: whole, by rename, or not at all. */
#ifndef STRATA_PUBLISH_H
#define STRATA_PUBLISH_H

#include "error.h"
#include "json.h"

/* What would fail after the work is done fails before it.  header: NULL if there is none. */
int publish_check(const char *spec, const char *output, const char *header, Error *e);

/* 'from' becomes 'output', 'header_from' becomes 'header': neither before both are complete. */
int publish(const char *output, const char *from, const char *header, const char *header_from,
            Error *e);

/* A text as a file. */
int publish_text(const char *output, const Text *t, Error *e);

/* A copy of a regular file. */
int publish_copy(const char *from, const char *to, Error *e);

#endif
