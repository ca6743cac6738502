/* SPDX-License-Identifier: MIT
** The folders of the cache: $XDG_CACHE_HOME/strata or ~/.cache/strata, and those below it.
** Folders and files that belong to another user, or that other users may write to, are not used.
*/
#ifndef STRATA_CACHE_FOLDER_H
#define STRATA_CACHE_FOLDER_H

#include "error.h"

#include <sys/stat.h>

/* The cache's path, malloc'ed; 'command', such as "run", asks for it. */
int cache_path(const char *command, char **path, Error *e);
/* A folder, with those on the way to it. */
int cache_make_folders(const char *path, Error *e);
/* NULL, or what others may do to it. */
const char *cache_unsafe(const struct stat *s);
/* Opens a folder of this user alone, which has a name in the folder 'at': *fd; if it is none, -1,
** and *wrong says what it is.  'shown': its path. */
int cache_open_folder(int at, const char *name, int flags, const char *shown, int *fd,
                      const char **wrong, Error *e);
/* The cache itself, which may be a link to where there is room, and in it a folder of this name,
** made where there is none: *fd; -1, and in *wrong_folder the path of that which is *wrong. */
int cache_open_inner(const char *outer, const char *name, int *fd, char **wrong_folder,
                     const char **wrong, Error *e);

#endif
