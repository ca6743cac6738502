/* SPDX-License-Identifier: MIT
** To be preloaded: writes down what files are in the folder that a program is started in, then what
** it does to them (record.h).  Nothing fails, but for an exchange of names, if that is asked for.
**   RECORD=FILE           where it is written to
**   RECORD_EXCHANGE=0     renameat2 is refused, as by file systems that cannot do it
*/
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"
#include "record.h"

/* One for the process, as in preload.c. */
static struct {
    int file;
    bool no_exchange;
} here;

static void put(const void *bytes, size_t n) {
    if (syscall(SYS_write, here.file, bytes, n) != (long)n) abort();
}

static void note(Record r, const char *from, const char *to) {
    snprintf(r.from, sizeof r.from, "%s", from ? from : "");
    snprintf(r.to, sizeof r.to, "%s", to ? to : "");
    put(&r, sizeof r);
}

static void list(void) {
    DIR *d = opendir(".");
    if (!d) abort();
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_type == DT_REG) note((Record){ RECORD_FILE, .file = e->d_ino }, e->d_name, NULL);
    closedir(d);
    note((Record){ .kind = RECORD_SYNC_FOLDER }, NULL, NULL);
}

void preload_prepare(void) {
    const char *name = getenv("RECORD"), *exchange = getenv("RECORD_EXCHANGE");
    here.file = (int)syscall(SYS_openat, AT_FDCWD, name ? name : "",
                             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    here.no_exchange = exchange && *exchange == '0';
    if (here.file < 0) abort();
    list();
}

/* The file's number; 0: nothing of the kind that is recorded. */
static uint64_t number_of(int fd) {
    struct stat s;
    return preload_counts() && !fstat(fd, &s) && S_ISREG(s.st_mode) ? s.st_ino : 0;
}

static int opened(int at, const char *path, int flags, int mode) {
    struct stat s;
    bool makes = preload_counts() && (flags & O_CREAT) && fstatat(at, path, &s, 0);
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    if (fd >= 0 && makes) note((Record){ RECORD_FILE, .file = number_of(fd) }, path, NULL);
    if (fd >= 0 && !makes && flags & O_TRUNC && number_of(fd))
        note((Record){ RECORD_LENGTH, .file = number_of(fd) }, NULL, NULL);
    return fd;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    return opened(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    return opened(at, path, flags, mode);
}

static void wrote(int fd, const void *bytes, long n, off_t at) {
    uint64_t file = n > 0 ? number_of(fd) : 0;
    if (!file) return;
    note((Record){ RECORD_WRITE, .file = file, .at = (uint64_t)at, .size = (uint64_t)n }, NULL,
         NULL);
    put(bytes, (size_t)n);
}

ssize_t write(int fd, const void *bytes, size_t n) {
    long put_in = syscall(SYS_write, fd, bytes, n);
    int error = errno;
    if (put_in > 0) wrote(fd, bytes, put_in, lseek(fd, 0, SEEK_CUR) - put_in);
    errno = error;
    return put_in;
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) {
    long put_in = syscall(SYS_pwrite64, fd, bytes, n, at);
    wrote(fd, bytes, put_in, at);
    return put_in;
}

int ftruncate(int fd, off_t size) {
    uint64_t file = number_of(fd);
    if (file) note((Record){ RECORD_LENGTH, .file = file, .size = (uint64_t)size }, NULL, NULL);
    return (int)syscall(SYS_ftruncate, fd, size);
}

int fsync(int fd) {
    uint64_t file = number_of(fd);
    int status = (int)syscall(SYS_fsync, fd);
    if (!status && preload_counts())
        note((Record){ file ? RECORD_SYNC : RECORD_SYNC_FOLDER, .file = file }, NULL, NULL);
    return status;
}

static int moved(int status, RecordKind kind, const char *from, const char *to) {
    if (!status && preload_counts()) note((Record){ .kind = kind }, from, to);
    return status;
}

int renameat(int a, const char *from, int b, const char *to) {
    return moved((int)syscall(SYS_renameat, a, from, b, to), RECORD_RENAME, from, to);
}

int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    if (here.no_exchange) {
        errno = EINVAL;
        return -1;
    }
    return moved((int)syscall(SYS_renameat2, a, from, b, to, flags),
                 flags ? RECORD_EXCHANGE : RECORD_RENAME, from, to);
}

int unlinkat(int at, const char *path, int flags) {
    return moved((int)syscall(SYS_unlinkat, at, path, flags), RECORD_REMOVE, path, NULL);
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
