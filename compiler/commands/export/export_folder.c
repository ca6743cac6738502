/* SPDX-License-Identifier: MIT
** Writes a folder that appears whole: it is written beside its place, as DIR.strata-tmp, and
** renamed.  An existing folder is replaced only if the user asks for it and it has only files that
** exports write; it stays until the new one is complete.  A temporary folder of an export that was
** killed is not in use any more: the next export says so and removes it.
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
#include "temporary.h"

static const char *const written[] = {
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "modeling_strata.py",
    "configuration_strata.py",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer.tiktoken",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    ".",
    "..",
};

/* Or a file of these that was not complete. */
static bool is_ours(const char *name) {
    size_t n = strlen(name), k = sizeof ".strata-tmp" - 1;
    if (n > k && !strcmp(name + n - k, ".strata-tmp")) n -= k;
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (strlen(written[i]) == n && !memcmp(name, written[i], n)) return true;
    return false;
}

/* Nothing in it would be lost that an export did not write. */
static int folder_check_files(const char *path, const char *why, Error *e) {
    DIR *d = opendir(path);
    int status = d ? STATUS_OK : error_errno(e, path, "open", errno);
    for (struct dirent *f; d && !status && (f = readdir(d));)
        if (!is_ours(f->d_name))
            status = error_set(e, STATUS_USER,
                               "%s: %sexpected only files that export writes, found '%s'", path,
                               why, f->d_name);
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
                         "%s: expected a name that is free, or --overwrite, found %s", f->path,
                         file_kind(&s));
    if (!S_ISDIR(s.st_mode))
        return error_set(e, STATUS_USER, "%s: --overwrite: expected a folder, found a file",
                         f->path);
    return folder_check_files(f->path, "--overwrite: ", e);
}

/* Makes it, and locks it where the file system can: who finds it unlocked may remove it. */
static int make_temp(ExportFolder *f, Error *e) {
    int status = STATUS_OK;
    output_hold();
    if (mkdir(f->temp, 0777)) status = error_errno(e, f->path, "make a folder", errno);
    else allowance_keep(f->allowance, f->temp);
    output_release();
    if (!status) f->lock = open(f->temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->lock >= 0) temporary_lock(f->lock);
    return status;
}

/* What an export left that was stopped, if nothing is in it that no export writes. */
static int remove_stopped(const ExportFolder *f, Error *e) {
    int status = folder_check_files(f->temp, "", e);
    if (status) return status;
    remove_folder(f->temp);
    temporary_note(f->allowance->console, f->temp,
                   ", which an export that was stopped left: removed");
    return STATUS_OK;
}

static int remove_left(const ExportFolder *f, Error *e) {
    struct stat s;
    int fd, status = STATUS_OK;
    TemporaryState state = temporary_look(AT_FDCWD, f->temp, S_IFDIR, &fd);
    if (state == TEMPORARY_HELD)
        status = error_set(e, STATUS_USER, "%s: another process is writing this folder", f->path);
    else if (state == TEMPORARY_OTHER && !lstat(f->temp, &s))
        status = error_set(e, STATUS_USER, "%s: expected it to be free for a folder, found %s",
                           f->temp, file_kind(&s));
    else if (state == TEMPORARY_FOREIGN)
        status = error_set(e, STATUS_USER,
                           "%s: expected it to be free for a folder, found another user's",
                           f->temp);
    else if (state == TEMPORARY_UNKNOWN) status = error_errno(e, f->temp, "look at it", errno);
    else if (state == TEMPORARY_LEFT || state == TEMPORARY_UNLOCKED) status = remove_stopped(f, e);
    if (fd >= 0) close(fd);
    return status;
}

int export_folder_open(ExportFolder *f, const char *path, bool overwrite, Allowance *a, Error *e) {
    *f = (ExportFolder){ .path = strdup(path), .lock = -1, .replaced = -1, .allowance = a };
    size_t n = strlen(path);
    while (f->path && n > 1 && f->path[n - 1] == '/')
        f->path[--n] = 0;
    if (!f->path || asprintf(&f->temp, "%s.strata-tmp", f->path) < 0) {
        f->temp = NULL;
        return error_memory(e, path, n);
    }
    int status = check_place(f, overwrite, e);
    if (!status) output_tell_left(f->path);
    if (!status) status = remove_left(f, e);
    if (!status) status = make_temp(f, e);
    if (status) {
        free(f->temp);
        f->temp = NULL;
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
    if (!status) status = publish_own(path, t, e);
    free(path);
    return status;
}

/* What has its place is not ours to remove any more. */
static void forget(ExportFolder *f) {
    allowance_forget(f->allowance, f->temp);
    free(f->temp);
    f->temp = NULL;
}

/* While the folder that is replaced bears a temporary name, this process writes it. */
static void hold_replaced(ExportFolder *f) {
    f->replaced = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->replaced >= 0) temporary_lock(f->replaced);
}

/* Where names cannot be exchanged in one step: the old folder comes back if the new one cannot
** take its place. */
static int replace_in_steps(ExportFolder *f, Error *e) {
    char *old;
    if (asprintf(&old, "%s.strata-old", f->path) < 0) return error_memory(e, f->path, 16);
    int status = STATUS_OK;
    if (rename(f->path, old)) status = error_errno(e, f->path, "rename", errno);
    if (!status && rename(f->temp, f->path)) {
        status = error_errno(e, f->path, "rename", errno);
        if (rename(old, f->path)) error_line(e, "what it was is in %s", old);
    }
    if (!status) forget(f), remove_folder(old);
    free(old);
    return status;
}

static int folder_take_place(ExportFolder *f, Error *e) {
    if (f->replaces) hold_replaced(f);
    unsigned flags = f->replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (!renameat2(AT_FDCWD, f->temp, AT_FDCWD, f->path, flags)) {
        /* somebody may have put a file of his own there since */
        if (!f->replaces) return forget(f), STATUS_OK;
        int status = folder_check_files(f->temp, "what was replaced: ", e);
        if (status) forget(f);
        return status;
    }
    if (errno != EINVAL && errno != ENOSYS) return error_errno(e, f->path, "rename", errno);
    if (f->replaces) return replace_in_steps(f, e);
    if (rename(f->temp, f->path)) return error_errno(e, f->path, "rename", errno);
    return forget(f), STATUS_OK;
}

int export_folder_commit(ExportFolder *f, Error *e) {
    output_hold();
    int status = folder_take_place(f, e);
    output_release();
    return status;
}

void export_folder_close(ExportFolder *f) {
    if (f->temp) allowance_drop(f->allowance, f->temp); /* unfinished, or what was replaced */
    if (f->lock >= 0) close(f->lock);
    if (f->replaced >= 0) close(f->replaced);
    free(f->temp);
    free(f->path);
    *f = (ExportFolder){ .lock = -1, .replaced = -1 };
}
