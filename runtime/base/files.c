/* SPDX-License-Identifier: MIT
** Atomic output and checked input; see files.h.
** Everything about an output happens relative to its folder, opened once, so that
** neither chdir nor a folder that is renamed meanwhile sends it elsewhere.
*/
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A descriptor above 2 even where the standard three were closed at start: what is
** printed must not land in a file. */
static int above_standard(int fd) {
    if (fd < 0 || fd > 2) return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 3), number = errno;
    close(fd);
    errno = number;
    return high;
}

static const char *kind_of(const struct stat *s) {
    return S_ISDIR(s->st_mode) ? "a folder"
        : S_ISLNK(s->st_mode)  ? "a symbolic link"
        : S_ISFIFO(s->st_mode) ? "a pipe"
        : S_ISSOCK(s->st_mode) ? "a socket"
        : S_ISREG(s->st_mode)  ? "a regular file"
                               : "a device";
}

/* == Output =============================================================== */

static char *joined(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    char *s = malloc(n + m + 1);
    if (s) {
        memcpy(s, a, n);
        memcpy(s + n, b, m + 1);
    }
    return s;
}

static void output_free(Output *o) {
    if (o->fd >= 0) close(o->fd);
    if (o->folder >= 0) close(o->folder);
    free(o->path);
    free(o->name);
    free(o->temp);
    *o = (Output){ .fd = -1, .folder = -1 };
}

/* Splits the path and opens its folder. */
static int locate(Output *o, const char *path, Error *e) {
    *o = (Output){ .fd = -1, .folder = -1 };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
        return error_set(e, STATUS_USER, "%s: expected a file's name, found a folder's", path);
    o->path = strdup(path);
    o->name = strdup(name);
    o->temp = joined(name, ".strata-tmp");
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int status = STATUS_OK;
    if (!o->path || !o->name || !o->temp || !folder) {
        status = error_memory(e, path, strlen(path));
    } else {
        o->folder = above_standard(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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
                     o->path, suffix, kind_of(s));
}

/* Whether the temporary file is that one; errno is 0 if it could be looked at, or is not there. */
static bool same_file(const Output *o, int fd) {
    struct stat a, b;
    errno = 0;
    if (fstat(fd, &a) || fstatat(o->folder, o->temp, &b, AT_SYMLINK_NOFOLLOW)) {
        if (errno == ENOENT) errno = 0;
        return false;
    }
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Locks where the file system can; false if another process holds the lock. */
static bool lock(int fd) { return !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK; }

/* Removes a temporary file that no process holds any more. */
static int remove_stale(Output *o, Error *e) {
    struct stat s;
    bool there;
    int status = regular_or_none(o, o->temp, ".strata-tmp", &s, &there, e);
    if (status || !there) return status;
    int fd = openat(o->folder, o->temp, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? STATUS_OK
                               : error_errno(e, o->path, "replace its .strata-tmp", errno);
    if (!lock(fd))
        status = error_set(e, STATUS_USER, "%s: another process is writing this file", o->path);
    else if (same_file(o, fd) ? unlinkat(o->folder, o->temp, 0) && errno != ENOENT : errno)
        status = error_errno(e, o->path, "replace its .strata-tmp", errno);
    close(fd);
    return status;
}

/* Two processes may race for the name: whoever holds the lock of the file that bears it wins. */
static int create_temp(Output *o, Error *e) {
    for (int attempt = 0; attempt < 16; attempt++) {
        int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        int fd = above_standard(openat(o->folder, o->temp, flags, 0666));
        if (fd >= 0) {
            bool locked = lock(fd);
            if (locked && same_file(o, fd)) {
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
    return error_set(e, STATUS_USER, "%s: another process is writing this file", o->path);
}

int output_open(Output *o, const char *path, Error *e) {
    struct stat s;
    bool there;
    int status = locate(o, path, e);
    if (status) return status;
    status = regular_or_none(o, o->name, "", &s, &there, e);
    if (!status) status = create_temp(o, e);
    /* as it was; failing is harmless */
    if (!status && there) (void)!fchmod(o->fd, s.st_mode & 0777);
    if (status) output_free(o);
    return status;
}

int output_check(const char *path, bool keep_previous, Error *e) {
    Output o;
    struct stat s;
    bool there;
    int status = locate(&o, path, e);
    if (status) return status;
    status = regular_or_none(&o, o.name, "", &s, &there, e);
    if (!status && keep_previous) {
        char *previous = joined(o.name, ".prev");
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
    char *previous = joined(o->name, ".prev");
    if (!previous) return error_memory(e, o->path, strlen(o->name) + 6);
    status = regular_or_none(o, previous, ".prev", &s, &taken, e);
    if (!status) status = rotate(o, previous, e);
    free(previous);
    return status;
}

int output_commit(Output *o, bool keep_previous, Error *e) {
    int status = STATUS_OK;
    if (fsync(o->fd) && errno != EINVAL && errno != EROFS)
        status = error_errno(e, o->path, "flush", errno);
    if (!status) status = appear(o, keep_previous, e);
    if (status) {
        output_discard(o);
        return status;
    }
    if (fsync(o->folder) && errno != EINVAL && errno != EROFS)
        status = error_errno(e, o->path, "flush its folder (the file is there)", errno);
    output_free(o);
    return status;
}

void output_discard(Output *o) {
    if (o->fd >= 0 && same_file(o, o->fd)) unlinkat(o->folder, o->temp, 0);
    output_free(o);
}

/* == Input ================================================================ */

int input_open(Input *in, const char *path, Error *e) {
    *in = (Input){ .fd = -1, .path = path };
    int fd = above_standard(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd < 0) return error_errno(e, path, "open", errno);
    int status = STATUS_OK;
    if (fstat(fd, &in->before)) status = error_errno(e, path, "look at it", errno);
    else if (!S_ISREG(in->before.st_mode))
        status = error_set(e, STATUS_USER, "%s: expected a regular file, found %s", path,
                           kind_of(&in->before));
    if (status) close(fd);
    else in->fd = fd;
    return status;
}

int input_read(const Input *in, uint64_t at, void *to, size_t n, Error *e) {
    char *p = to;
    while (n) {
        ssize_t got = pread(in->fd, p, n < (1u << 30) ? n : (1u << 30), (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_errno(e, in->path, "read", errno);
        if (!got)
            return error_set(e, STATUS_IO, "%s: the file became shorter while it was read",
                             in->path);
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return STATUS_OK;
}

int input_unchanged(const Input *in, Error *e) {
    struct stat now;
    const struct stat *was = &in->before;
    if (fstat(in->fd, &now)) return error_errno(e, in->path, "look at it", errno);
    if (now.st_size == was->st_size && now.st_mtim.tv_sec == was->st_mtim.tv_sec
        && now.st_mtim.tv_nsec == was->st_mtim.tv_nsec)
        return STATUS_OK;
    return error_set(e, STATUS_IO, "%s: the file changed while it was read", in->path);
}

void input_close(Input *in) {
    if (in->fd >= 0) close(in->fd);
    in->fd = -1;
}

uint64_t memory_physical(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* Half a process, and a little for each processor. */
double load_quiet(int processors) { return 0.5 + 0.05 * processors; }

double load_of_others(void) {
    double load;
    if (getloadavg(&load, 1) != 1) return 0;
    return load > load_quiet((int)sysconf(_SC_NPROCESSORS_ONLN)) ? load : 0;
}

void processor_name(char *out, size_t size) {
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(out, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon) continue;
        snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (f) fclose(f);
}
