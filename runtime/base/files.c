/* SPDX-License-Identifier: MIT
** Checked input, and properties of the machine; see files.h.  Output is in output.c.
*/
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int file_above_standard(int fd) {
    if (fd < 0 || fd > 2) return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 3), number = errno;
    close(fd);
    errno = number;
    return high;
}

const char *file_kind(const struct stat *s) {
    return S_ISDIR(s->st_mode) ? "a folder"
        : S_ISLNK(s->st_mode)  ? "a symbolic link"
        : S_ISFIFO(s->st_mode) ? "a pipe"
        : S_ISSOCK(s->st_mode) ? "a socket"
        : S_ISREG(s->st_mode)  ? "a regular file"
                               : "a device";
}

/* == Input ================================================================ */

int input_open(Input *in, const char *path, Error *e) {
    *in = (Input){ .fd = -1, .path = path };
    int fd = file_above_standard(open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd < 0) return error_errno(e, path, "open", errno);
    int status = STATUS_OK;
    if (fstat(fd, &in->before)) status = error_errno(e, path, "look at it", errno);
    else if (!S_ISREG(in->before.st_mode))
        status = error_set(e, STATUS_USER, "%s: expected a regular file, found %s", path,
                           file_kind(&in->before));
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
