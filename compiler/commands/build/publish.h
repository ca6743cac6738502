/* SPDX-License-Identifier: MIT
** Finished files to their places: whole, by rename, or not at all. */
#ifndef STRATA_PUBLISH_H
#define STRATA_PUBLISH_H

#include "error.h"
#include "json.h"
#include "place.h"

/* 'from' becomes 'output', 'header_from' becomes 'header': neither before both are complete. */
int publish(const char *output, const char *from, const char *header, const char *header_from,
            Error *e);

/* A text as a file, where there may be one. */
int publish_text(const FilePlace *to, const Text *t, Error *e);
/* The same where nobody else writes. */
int publish_own(const char *path, const Text *t, Error *e);

#endif
