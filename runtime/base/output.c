/* SPDX-License-Identifier: MIT
** Atomic output; see files.h.  All steps use paths relative to the output's folder, which is
** opened once, so that neither chdir nor renaming the folder meanwhile sends the output elsewhere.
*/
#include "files.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* == Signals ============================================================== */

/* What this process writes at the moment, if it is to go with it. */
static Output *under_way;
static pid_t guarded; /* 0: nobody asked for it */
static FILE *notes;   /* where it says what others left; NULL: nowhere */
static sigset_t output_stops, before_hold;
static int holds;

/* A process that a guarded one forked has a copy of its list, and removes nothing of it. */
static void remove_and_stop(int number) {
    for (const Output *o = guarded == getpid() ? under_way : NULL; o; o = o->next)
        unlinkat(o->folder, o->temp, 0);
    signal(number, SIG_DFL);
    raise(number);
}

void output_guard(FILE *to) {
    static const int number[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction how = { .sa_handler = remove_and_stop }, was;
    sigemptyset(&output_stops);
    for (int i = 0; i < 3; i++)
        sigaddset(&output_stops, number[i]);
    how.sa_mask = output_stops;
    guarded = getpid();
    notes = to;
    under_way = NULL;
    holds = 0;
    for (int i = 0; i < 3; i++)
        if (!sigaction(number[i], NULL, &was) && was.sa_handler != SIG_IGN)
            sigaction(number[i], &how, NULL);
}

void output_hold(void) {
    if (guarded == getpid() && !holds++) pthread_sigmask(SIG_BLOCK, &output_stops, &before_hold);
}

void output_release(void) {
    if (guarded == getpid() && !--holds) pthread_sigmask(SIG_SETMASK, &before_hold, NULL);
}

static void output_begin(Output *o) {
    if (guarded != getpid()) return;
    o->next = under_way;
    under_way = o;
}

static void output_end(const Output *o) {
    for (Output **at = &under_way; guarded == getpid() && *at; at = &(*at)->next)
        if (*at == o) {
            *at = o->next;
            break;
        }
}

/* == Output =============================================================== */

static char *output_joined(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    char *s = malloc(n + m + 1);
    if (s) {
        memcpy(s, a, n);
        memcpy(s + n, b, m + 1);
    }
    return s;
}

static void output_free(Output *o) {
    output_end(o);
    if (o->fd >= 0) close(o->fd);
    if (o->folder >= 0) close(o->folder);
    free(o->path);
    free(o->name);
    free(o->temp);
    *o = (Output){ .fd = -1, .folder = -1 };
}

/* The descriptor that a name stands for; -1: it is no such name. */
static int descriptor_of(const char *path) {
    int n = -1;
    char rest;
    if (!strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
    return sscanf(path, "/dev/fd/%5d%c", &n, &rest) == 1 ? n : -1;
}

bool output_is_stream(const char *path) {
    struct stat s;
    return descriptor_of(path) >= 0 || (!lstat(path, &s) && S_ISCHR(s.st_mode));
}

/* What is no place in a folder is written as it comes; a descriptor goes on where it is. */
static int open_stream(Output *o, const char *path, Error *e) {
    int n = descriptor_of(path);
    *o = (Output){ .fd = -1, .folder = -1, .path = strdup(path) };
    if (!o->path) return error_memory(e, path, strlen(path));
    o->fd = n >= 0 ? fcntl(n, F_DUPFD_CLOEXEC, 3)
                   : file_above_standard(open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC));
    off_t at = o->fd < 0 ? 0 : lseek(o->fd, 0, SEEK_CUR);
    o->begin = at > 0 ? (uint64_t)at : 0;
    if (o->fd >= 0) return STATUS_OK;
    int status = error_errno(e, path, "open", errno);
    output_free(o);
    return status;
}

/* Splits the path and opens its folder. */
static int locate(Output *o, const char *path, Error *e) {
    *o = (Output){ .fd = -1, .folder = -1 };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
        return error_set(e, STATUS_USER, "%s: expected a file's name, found a folder's", path);
    o->path = strdup(path);
    o->name = strdup(name);
    o->temp = output_joined(name, ".strata-tmp");
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int status = STATUS_OK;
    if (!o->path || !o->name || !o->temp || !folder) {
        status = error_memory(e, path, strlen(path));
    } else {
        o->folder = file_above_standard(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (o->folder < 0) status = error_errno(e, path, "open its folder", errno);
    }
    free(folder);
    if (status) output_free(o);
    return status;
}

/* A name in the folder may be taken by a regular file only; *there tells whether it is. */
static int regular_or_none(const Output *o, const char *name, const char *suffix, struct stat *s,
                           bool *there, Error *e) {
    *there = false;
    if (fstatat(o->folder, name, s, AT_SYMLINK_NOFOLLOW)) {
        if (errno == ENOENT) return STATUS_OK;
        return error_errno(e, o->path, "look at it", errno);
    }
    *there = true;
    if (S_ISREG(s->st_mode)) return STATUS_OK;
    return error_set(e, STATUS_USER, "%s%s: expected a regular file or a new name, found %s",
                     o->path, suffix, file_kind(s));
}

static int busy(const Output *o, Error *e) {
    return error_set(e, STATUS_USER, "%s: another process is writing this file", o->path);
}

static FILE *output_told(void) { return guarded == getpid() ? notes : NULL; }

static void note_removed(const Output *o) {
    char *path = output_joined(o->path, ".strata-tmp");
    if (path)
        temporary_note(output_told(), path, ", which a command that was killed left: removed");
    free(path);
}

/* Somebody who only looks holds it for a moment. */
static TemporaryState look_at_temp(const Output *o, int *fd) {
    static const struct timespec moment = { .tv_nsec = 5000000 };
    TemporaryState state = temporary_look(o->folder, o->temp, S_IFREG, fd);
    for (int again = 0; state == TEMPORARY_HELD && again < 10; again++) {
        nanosleep(&moment, NULL);
        state = temporary_look(o->folder, o->temp, S_IFREG, fd);
    }
    return state;
}

/* Removes a temporary file that no process holds any more. */
static int remove_stale(Output *o, Error *e) {
    struct stat s;
    bool there;
    int fd, status = STATUS_OK;
    switch (look_at_temp(o, &fd)) {
    case TEMPORARY_NONE: return STATUS_OK;
    case TEMPORARY_HELD: return busy(o, e);
    case TEMPORARY_OTHER: return regular_or_none(o, o->temp, ".strata-tmp", &s, &there, e);
    case TEMPORARY_UNKNOWN: return error_errno(e, o->path, "replace its .strata-tmp", errno);
    case TEMPORARY_FOREIGN:
        return error_set(e, STATUS_USER,
                         "%s.strata-tmp: expected no such file, or one of this user, found "
                         "another user's",
                         o->path);
    case TEMPORARY_LEFT:
    case TEMPORARY_UNLOCKED: break;
    }
    bool left = !temporary_is_fresh(fd); /* else two that begin meet, perhaps */
    if (!unlinkat(o->folder, o->temp, 0)) {
        if (output_told() && left) note_removed(o);
    } else if (errno != ENOENT) {
        status = error_errno(e, o->path, "replace its .strata-tmp", errno);
    }
    close(fd);
    return status;
}

/* Two processes may race for the name: whoever holds the lock of the file that bears it wins. */
static int create_temp(Output *o, Error *e) {
    for (int attempt = 0; attempt < 16; attempt++) {
        int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        int fd = file_above_standard(openat(o->folder, o->temp, flags, 0666));
        if (fd >= 0) {
            bool locked = temporary_lock(fd) != EWOULDBLOCK;
            if (locked && temporary_is(o->folder, o->temp, fd)) {
                o->fd = fd;
                return STATUS_OK;
            }
            int number = locked ? errno : 0;
            close(fd);
            if (number) return error_errno(e, o->path, "look at its .strata-tmp", number);
        } else if (errno != EEXIST) {
            return error_errno(e, o->path, "create it", errno);
        } else {
            int status = remove_stale(o, e);
            if (status) return status;
        }
    }
    return busy(o, e);
}

/* Others of the folder, which it has before anything is written to it, once. */
static void tell_left(const Output *o) {
    static dev_t device;
    static ino_t number;
    struct stat s;
    if (!output_told() || fstat(o->folder, &s) || (s.st_dev == device && s.st_ino == number))
        return;
    device = s.st_dev, number = s.st_ino;
    char *before = strndup(o->path, strlen(o->path) - strlen(o->name));
    if (before) temporary_tell(o->folder, before, o->temp, notes);
    free(before);
}

int output_open(Output *o, const char *path, Error *e) {
    struct stat s;
    bool there;
    if (output_is_stream(path)) return open_stream(o, path, e);
    int status = locate(o, path, e);
    if (status) return status;
    status = regular_or_none(o, o->name, "", &s, &there, e);
    if (!status) tell_left(o);
    output_hold();
    if (!status) status = create_temp(o, e);
    if (!status) output_begin(o);
    output_release();
    /* as it was; failing is harmless */
    if (!status && there) (void)!fchmod(o->fd, s.st_mode & 0777);
    if (status) output_free(o);
    return status;
}

int output_check(const char *path, bool keep_previous, Error *e) {
    Output o;
    struct stat s;
    bool there;
    if (!keep_previous && output_is_stream(path)) return STATUS_OK;
    int status = locate(&o, path, e);
    if (status) return status;
    status = regular_or_none(&o, o.name, "", &s, &there, e);
    if (!status && keep_previous) {
        char *previous = output_joined(o.name, ".prev");
        status = previous ? regular_or_none(&o, previous, ".prev", &s, &there, e)
                          : error_memory(e, path, 8);
        free(previous);
    }
    if (!status && faccessat(o.folder, ".", W_OK | X_OK, AT_EACCESS))
        status = error_errno(e, path, "write to its folder", errno);
    output_free(&o);
    return status;
}

int output_write(Output *o, const void *bytes, size_t n, Error *e) {
    const char *p = bytes;
    while (n) {
        ssize_t put = write(o->fd, p, n < (1u << 30) ? n : (1u << 30));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return error_errno(e, o->path, "write", errno);
        p += put;
        n -= (size_t)put;
    }
    return STATUS_OK;
}

int output_patch(Output *o, uint64_t at, const void *bytes, size_t n, Error *e) {
    const char *p = bytes;
    at += o->begin;
    while (n) {
        ssize_t put = pwrite(o->fd, p, n, (off_t)at);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return error_errno(e, o->path, "write", errno);
        p += put;
        at += (uint64_t)put;
        n -= (size_t)put;
    }
    return STATUS_OK;
}

/* The new file and the old one change names in one step; then the old one, which bears the
** temporary name now, becomes the previous.  Without that system call: two renames. */
static int rotate(Output *o, const char *previous, Error *e) {
    if (!renameat2(o->folder, o->temp, o->folder, o->name, RENAME_EXCHANGE)) {
        if (!renameat(o->folder, o->temp, o->folder, previous)) return STATUS_OK;
        return error_errno(e, o->path, "keep the file before as .prev (the new one is there)",
                           errno);
    }
    if (errno != EINVAL && errno != ENOSYS) return error_errno(e, o->path, "replace it", errno);
    if (renameat(o->folder, o->name, o->folder, previous))
        return error_errno(e, o->path, "keep the file before as .prev", errno);
    if (renameat(o->folder, o->temp, o->folder, o->name))
        return error_errno(e, o->path, "replace it", errno);
    return STATUS_OK;
}

static int appear(Output *o, bool keep_previous, Error *e) {
    struct stat s;
    bool there, taken;
    int status = regular_or_none(o, o->name, "", &s, &there, e);
    if (status) return status;
    if (!keep_previous || !there) {
        if (renameat(o->folder, o->temp, o->folder, o->name))
            return error_errno(e, o->path, "rename", errno);
        return STATUS_OK;
    }
    char *previous = output_joined(o->name, ".prev");
    if (!previous) return error_memory(e, o->path, strlen(o->name) + 6);
    status = regular_or_none(o, previous, ".prev", &s, &taken, e);
    if (!status) status = rotate(o, previous, e);
    free(previous);
    return status;
}

static int commit_file(Output *o, bool keep_previous, Error *e) {
    int status = appear(o, keep_previous, e);
    if (status) return output_discard(o), status;
    if (fsync(o->folder) && errno != EINVAL && errno != EROFS)
        status = error_errno(e, o->path, "flush its folder (the file is there)", errno);
    output_free(o);
    return status;
}

/* A signal must not find the old file under the temporary name. */
int output_commit(Output *o, bool keep_previous, Error *e) {
    int status = STATUS_OK;
    if (fsync(o->fd) && errno != EINVAL && errno != EROFS)
        status = error_errno(e, o->path, "flush", errno);
    if (status || o->folder < 0) return output_discard(o), status;
    output_hold();
    status = commit_file(o, keep_previous, e);
    output_release();
    return status;
}

void output_tell_left(const char *path) {
    Output o;
    Error ignored;
    if (!output_told() || locate(&o, path, &ignored)) return;
    tell_left(&o);
    output_free(&o);
}

void output_discard(Output *o) {
    output_hold();
    if (o->folder >= 0 && o->fd >= 0 && temporary_is(o->folder, o->temp, o->fd))
        unlinkat(o->folder, o->temp, 0);
    output_free(o);
    output_release();
}
