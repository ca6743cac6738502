/* SPDX-License-Identifier: MIT
** See cache_folder.h. */
#include "cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cache_path(const char *command, char **path, Error *e) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool absolute = cache && *cache == '/';
    *path = NULL;
    if (!absolute && (!home || *home != '/'))
        return error_set(
            e, STATUS_USER,
            "strata %s: expected HOME or XDG_CACHE_HOME to name a folder, found neither", command);
    if (asprintf(path, "%s%s/strata", absolute ? cache : home, absolute ? "" : "/.cache") >= 0)
        return STATUS_OK;
    *path = NULL;
    return error_memory(e, "the cache's path", PATH_MAX);
}

int cache_make_folders(const char *path, Error *e) {
    char *part = strdup(path);
    int failed = part ? 0 : ENOMEM;
    for (char *s = part; s && !failed;) {
        s = strchr(s + 1, '/');
        if (s) *s = 0;
        if (mkdir(part, 0700) && errno != EEXIST) failed = errno;
        if (failed) error_errno(e, part, "make a folder", failed);
        if (s) *s = '/';
    }
    free(part);
    return failed ? e->status : STATUS_OK;
}

const char *cache_unsafe(const struct stat *s) {
    return s->st_uid != geteuid()          ? "one that belongs to another user"
        : s->st_mode & (S_IWGRP | S_IWOTH) ? "one that others may write to"
                                           : NULL;
}

int cache_open_folder(int at, const char *name, int flags, const char *shown, int *fd,
                      const char **wrong, Error *e) {
    struct stat s;
    *fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (*fd < 0 && errno != ELOOP && errno != ENOTDIR)
        return error_errno(e, shown, "open it", errno);
    *wrong = *fd < 0     ? "a symbolic link or a file"
        : fstat(*fd, &s) ? "one that cannot be looked at"
                         : cache_unsafe(&s);
    if (*wrong && *fd >= 0) close(*fd);
    if (*wrong) *fd = -1;
    return STATUS_OK;
}

static int tell_wrong(const char *shown, char **wrong_folder, Error *e) {
    *wrong_folder = strdup(shown);
    return *wrong_folder ? STATUS_OK : error_memory(e, shown, strlen(shown) + 1);
}

int cache_open_inner(const char *outer, const char *name, int *fd, char **wrong_folder,
                     const char **wrong, Error *e) {
    int at;
    char *inner = NULL;
    *fd = -1;
    int status = cache_make_folders(outer, e);
    if (!status) status = cache_open_folder(AT_FDCWD, outer, 0, outer, &at, wrong, e);
    if (status) return status;
    if (at < 0) return tell_wrong(outer, wrong_folder, e);
    if (asprintf(&inner, "%s/%s", outer, name) < 0) inner = NULL;
    if (!inner) status = error_memory(e, outer, PATH_MAX);
    if (!status && mkdirat(at, name, 0700) && errno != EEXIST)
        status = error_errno(e, inner, "make a folder", errno);
    if (!status) status = cache_open_folder(at, name, O_NOFOLLOW, inner, fd, wrong, e);
    if (!status && *fd < 0) status = tell_wrong(inner, wrong_folder, e);
    close(at);
    free(inner);
    return status;
}
