/* SPDX-License-Identifier: MIT
** To be preloaded: lets a call of the system fail (preload.h), of those that a program makes
** itself: what libc does inside of others is not seen.  What is written to standard error is left
** alone, for it is what is looked at.
**   CALL_ERROR=N  0, 1, 2: which of the errors of such a call; a write of the third writes a part;
**                 3, 4, 5: and all later calls of the same name fail, too, but for what removes
*/
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload.h"

/* One for the process, as in preload.c. */
static struct {
    unsigned error;
    bool all;
    char name[32]; /* of what failed first; "": nothing yet */
} here;

void preload_prepare(void) {
    const char *error = getenv("CALL_ERROR");
    int n = error ? atoi(error) : 0;
    here.error = (unsigned)n % 3;
    here.all = n > 2;
}

/* The next definition of a function, found by its name once. */
static void *next(void **found, const char *name) {
    if (!*found) *found = dlsym(RTLD_NEXT, name);
    if (!*found) abort();
    return *found;
}

static bool fails(const char *name, int a, int b, int c) {
    const int errors[] = { a, b, c };
    if (!preload_counts()) return false;
    bool hit = preload_next() == preload_fault();
    bool later = here.all && !strcmp(here.name, name) && !strstr(name, "unlink")
        && strcmp(name, "rmdir");
    if (!hit && !later) return false;
    if (hit) {
        memccpy(here.name, name, 0, sizeof here.name - 1);
        preload_say(name);
    }
    errno = errors[here.error];
    return true;
}

#define PASS(...) __VA_ARGS__
/* A replaced function: its type, what it returns when it fails, the errors, what it takes. */
#define CALL(type, failed, a, b, c, name, takes, gives) \
    type name(takes) {                                  \
        static void *found;                             \
        type (*real)(takes);                            \
        if (fails(#name, a, b, c)) return failed;       \
        *(void **)&real = next(&found, #name);          \
        return real(gives);                             \
    }

/* clang-format off */
CALL(int, -1, EACCES, EIO, EACCES, access, PASS(const char *path, int mode), PASS(path, mode))
CALL(int, -1, EACCES, EIO, EROFS, faccessat, PASS(int at, const char *path, int mode, int flags), PASS(at, path, mode, flags))
CALL(int, -1, EPERM, EIO, EROFS, fchmod, PASS(int fd, mode_t mode), PASS(fd, mode))
CALL(int, -1, ENOLCK, EINTR, EIO, flock, PASS(int fd, int how), PASS(fd, how))
CALL(FILE *, NULL, EMFILE, EACCES, EIO, fopen, PASS(const char *path, const char *mode), PASS(path, mode))
CALL(pid_t, -1, EAGAIN, ENOMEM, ENOSYS, fork, PASS(void), PASS())
CALL(int, -1, EIO, EOVERFLOW, ENOMEM, fstat, PASS(int fd, struct stat *s), PASS(fd, s))
CALL(int, -1, EIO, EACCES, ENOMEM, fstatat, PASS(int at, const char *path, struct stat *s, int flags), PASS(at, path, s, flags))
CALL(int, -1, EIO, EACCES, ENOMEM, lstat, PASS(const char *path, struct stat *s), PASS(path, s))
CALL(int, -1, EIO, EACCES, ENOMEM, stat, PASS(const char *path, struct stat *s), PASS(path, s))
CALL(int, -1, EIO, ENOSPC, EDQUOT, fsync, PASS(int fd), PASS(fd))
CALL(int, -1, EIO, ENOSPC, EINVAL, ftruncate, PASS(int fd, off_t size), PASS(fd, size))
CALL(int, -1, ENOSPC, EACCES, EROFS, mkdir, PASS(const char *path, mode_t mode), PASS(path, mode))
CALL(char *, NULL, ENOSPC, EACCES, EROFS, mkdtemp, PASS(char *path), PASS(path))
CALL(int, -1, EMFILE, ENOMEM, ENOSYS, memfd_create, PASS(const char *name, unsigned flags), PASS(name, flags))
CALL(void *, MAP_FAILED, ENOMEM, EAGAIN, EPERM, mmap, PASS(void *at, size_t size, int can, int flags, int fd, off_t from), PASS(at, size, can, flags, fd, from))
CALL(FILE *, NULL, ENOMEM, ENOMEM, ENOMEM, open_memstream, PASS(char **text, size_t *size), PASS(text, size))
CALL(ssize_t, -1, EIO, ENXIO, ESTALE, pread, PASS(int fd, void *to, size_t n, off_t at), PASS(fd, to, n, at))
CALL(ssize_t, -1, EIO, ENXIO, ESTALE, read, PASS(int fd, void *to, size_t n), PASS(fd, to, n))
CALL(ssize_t, -1, EACCES, EIO, ENOENT, readlink, PASS(const char *path, char *to, size_t n), PASS(path, to, n))
CALL(char *, NULL, EIO, ENOMEM, ESTALE, realpath, PASS(const char *path, char *to), PASS(path, to))
CALL(int, -1, EIO, ENOSPC, EACCES, renameat, PASS(int a, const char *from, int b, const char *to), PASS(a, from, b, to))
CALL(int, -1, EINVAL, ENOSPC, EACCES, renameat2, PASS(int a, const char *from, int b, const char *to, unsigned flags), PASS(a, from, b, to, flags))
CALL(int, -1, EIO, EACCES, EBUSY, rmdir, PASS(const char *path), PASS(path))
CALL(int, -1, EIO, EACCES, EBUSY, unlink, PASS(const char *path), PASS(path))
CALL(int, -1, EIO, EACCES, EBUSY, unlinkat, PASS(int at, const char *path, int flags), PASS(at, path, flags))
CALL(DIR *, NULL, EMFILE, EACCES, EIO, opendir, PASS(const char *path), PASS(path))
/* clang-format on */

int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *argv, char *const *environ) {
    static void *found;
    int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                const posix_spawnattr_t *, char *const *, char *const *);
    if (fails("posix_spawnp", EAGAIN, ENOMEM, EACCES)) return errno;
    *(void **)&real = next(&found, "posix_spawnp");
    return real(child, file, actions, attributes, argv, environ);
}

static int mode_of(int flags, va_list list) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
}

int open(const char *path, int flags, ...) {
    static void *found;
    int (*real)(const char *, int, ...);
    va_list list;
    va_start(list, flags);
    int mode = mode_of(flags, list);
    va_end(list);
    if (fails("open", EMFILE, EACCES, EIO)) return -1;
    *(void **)&real = next(&found, "open");
    return real(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
    static void *found;
    int (*real)(int, const char *, int, ...);
    va_list list;
    va_start(list, flags);
    int mode = mode_of(flags, list);
    va_end(list);
    if (fails("openat", ENFILE, EACCES, EIO)) return -1;
    *(void **)&real = next(&found, "openat");
    return real(at, path, flags, mode);
}

/* What a write that fails in the third way takes: less than it is given, and then nothing. */
static size_t part(const char *name, size_t n, bool *failed) {
    *failed = fails(name, ENOSPC, EIO, EFBIG);
    if (!*failed || here.error < 2 || n < 2 || here.all) return n;
    *failed = false;
    return n / 2;
}

ssize_t write(int fd, const void *bytes, size_t n) {
    static void *found;
    ssize_t (*real)(int, const void *, size_t);
    bool failed = false;
    *(void **)&real = next(&found, "write");
    if (fd != STDERR_FILENO) n = part("write", n, &failed);
    return failed ? -1 : real(fd, bytes, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) {
    static void *found;
    ssize_t (*real)(int, const void *, size_t, off_t);
    bool failed;
    *(void **)&real = next(&found, "pwrite");
    n = part("pwrite", n, &failed);
    return failed ? -1 : real(fd, bytes, n, at);
}
