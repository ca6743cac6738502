/* SPDX-License-Identifier: MIT
** Describes what was found where a folder with weights is expected, for messages: a file, nothing,
** or weights of a kind that is not read.
*/
#ifndef STRATA_FOLDER_HINT_H
#define STRATA_FOLDER_HINT_H

#include "error.h"

/* Sets 'e' and returns its status: 'path' leads to no folder; 'problem': errno of opening it, or 0,
** where it leads to something else. */
int folder_refuse_path(const char *path, int problem, Error *e);

/* The same of a folder that has neither of two files. */
int folder_refuse_empty(const char *path, const char *single, const char *index, Error *e);

#endif
