/* SPDX-License-Identifier: MIT
** A folder that appears whole: it is written beside its place, under a name of its own, and
** renamed. One that is there is replaced only if it is asked for, and has nothing in it but what
** exports write.
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"
#include "publish.h"
#include "remove.h"

static const char *const written[] = {
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "modeling_strata.py",
    "configuration_strata.py",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    ".",
    "..",
};

static bool is_ours(const char *name) {
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (!strcmp(name, written[i])) return true;
    return false;
}

/* Nothing in it would be lost that an export did not write. */
static int check_files(const char *path, Error *e) {
    DIR *d = opendir(path);
    int status = d ? STATUS_OK : error_errno(e, path, "open", errno);
    for (struct dirent *f; d && !status && (f = readdir(d));)
        if (!is_ours(f->d_name))
            status =
                error_set(e, STATUS_USER,
                          "%s: --overwrite: expected only files that export writes, found '%s'",
                          path, f->d_name);
    if (d) closedir(d);
    return status;
}

static int check_place(ExportFolder *f, bool overwrite, Error *e) {
    struct stat s;
    if (lstat(f->path, &s))
        return errno == ENOENT ? STATUS_OK : error_errno(e, f->path, "look at it", errno);
    f->replaces = true;
    if (!overwrite)
        return error_set(e, STATUS_USER,
                         "%s: expected a name that is free, or --overwrite, found "
                         "a %s",
                         f->path, S_ISDIR(s.st_mode) ? "folder" : "file");
    if (!S_ISDIR(s.st_mode))
        return error_set(e, STATUS_USER, "%s: --overwrite: expected a folder, found a file",
                         f->path);
    return check_files(f->path, e);
}

int export_folder_open(ExportFolder *f, const char *path, bool overwrite, Error *e) {
    *f = (ExportFolder){ .path = strdup(path) };
    size_t n = strlen(path);
    while (f->path && n > 1 && f->path[n - 1] == '/')
        f->path[--n] = 0;
    if (!f->path || asprintf(&f->temp, "%s.strata-XXXXXX", f->path) < 0) {
        f->temp = NULL;
        return error_memory(e, path, n);
    }
    int status = check_place(f, overwrite, e);
    if (!status && !mkdtemp(f->temp)) status = error_errno(e, f->path, "make a folder", errno);
    if (status) {
        free(f->temp);
        f->temp = NULL;
    } else {
        mode_t mask = umask(0);
        umask(mask);
        (void)!chmod(f->temp, 0777 & ~mask);
    }
    return status;
}

char *export_folder_file(const ExportFolder *f, const char *name, Error *e) {
    char *path;
    if (asprintf(&path, "%s/%s", f->temp, name) >= 0) return path;
    error_memory(e, name, strlen(f->temp));
    return NULL;
}

int export_folder_text(const ExportFolder *f, const char *name, const Text *t, Error *e) {
    char *path = export_folder_file(f, name, e);
    int status = path ? text_status(t, e) : e->status;
    if (!status) status = publish_text(path, t, e);
    free(path);
    return status;
}

int export_folder_commit(ExportFolder *f, Error *e) {
    unsigned flags = f->replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, f->temp, AT_FDCWD, f->path, flags))
        return error_errno(e, f->path, "rename", errno);
    if (!f->replaces) {
        free(f->temp);
        f->temp = NULL;
    }
    return STATUS_OK;
}

void export_folder_close(ExportFolder *f) {
    if (f->temp) remove_folder(f->temp); /* unfinished, or what was replaced */
    free(f->temp);
    free(f->path);
    *f = (ExportFolder){ 0 };
}
