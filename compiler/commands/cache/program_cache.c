/* SPDX-License-Identifier: MIT
** See program_cache.h.  The folder is opened once, and all later steps use names relative to it,
** so that they reach the same folder even if its path leads elsewhere meanwhile.
*/
#include "program_cache.h"

#include "blas_library.h"
#include "cache_folder.h"
#include "codegen.h"
#include "hash.h"
#include "link.h"
#include "machine_rates.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* == The key ============================================================== */

/* A file that is another one after every build and installation. */
static int program_cache_add_file(Sha256 *h, const char *path, Error *e) {
    struct stat s;
    if (stat(path, &s)) return error_errno(e, path, "look at it", errno);
    const int64_t facts[] = { (int64_t)s.st_dev, (int64_t)s.st_ino, (int64_t)s.st_size,
                              (int64_t)s.st_mtim.tv_sec, (int64_t)s.st_mtim.tv_nsec };
    sha256_add(h, facts, sizeof facts);
    return STATUS_OK;
}

/* Who multiplies in it. */
static int add_products(Sha256 *h, Error *e) {
    ProductRatios ratios = machine_ratios();
    BlasLibrary library = { 0 };
    if (!ratios.measured) return STATUS_OK;
    blas_find(&library);
    sha256_add(h, ratios.of, sizeof ratios.of);
    return *library.path ? program_cache_add_file(h, library.path, e) : STATUS_OK;
}

/* Of the spec as it was named, which its program shows, of all that was read for it, of this
** compiler and what it links, of the processor that it compiles for. */
static int key_of(const Model *m, char key[65], Error *e) {
    char library[PATH_MAX + 64];
    Sha256 h;
    const char *cpu = codegen_native();
    if (!cpu)
        return error_set(e, STATUS_USER,
                         "strata run: expected a processor with at least %s, found an older one",
                         codegen_least());
    sha256_start(&h);
    sha256_add(&h, m->key, sizeof m->key);
    sha256_add(&h, m->file, strlen(m->file) + 1);
    sha256_add(&h, cpu, strlen(cpu) + 1);
    int status = program_cache_add_file(&h, "/proc/self/exe", e);
    if (!status && link_library(library, sizeof library))
        status = program_cache_add_file(&h, library, e);
    if (!status) status = add_products(&h, e);
    sha256_text(&h, key);
    return status;
}

/* == Folders ============================================================== */

int cache_open(ProgramCache *c, const Model *m, Error *e) {
    char key[65], *outer = NULL;
    *c = (ProgramCache){ .folder = -1, .lock = -1 };
    int status = key_of(m, key, e);
    if (!status) status = cache_path("run", &outer, e);
    if (status) return status;
    if (asprintf(&c->path, "%s/%s/%s", outer, key, m->name) < 0) c->path = NULL;
    if (!c->path || asprintf(&c->fresh, "%s.new", c->path) < 0) c->fresh = NULL;
    status = c->fresh ? cache_open_inner(outer, key, &c->folder, &c->wrong_folder, &c->wrong, e)
                      : error_memory(e, outer, PATH_MAX);
    free(outer);
    return status;
}

void cache_close(ProgramCache *c) {
    if (c->lock >= 0) close(c->lock);
    if (c->folder >= 0) close(c->folder);
    free(c->path);
    free(c->fresh);
    free(c->wrong_folder);
    *c = (ProgramCache){ .folder = -1, .lock = -1 };
}

/* No model is called so. */
static const char LOCK[] = ".lock";

static const char *name_in(const char *path) { return strrchr(path, '/') + 1; }

/* Whatever bears the name and is no regular file, which could be replaced.  A folder that is not
** empty stays, under another name. */
static void clear_place(const ProgramCache *c, const char *name) {
    char aside[64];
    struct stat s;
    if (fstatat(c->folder, name, &s, AT_SYMLINK_NOFOLLOW) || S_ISREG(s.st_mode)) return;
    if (!unlinkat(c->folder, name, S_ISDIR(s.st_mode) ? AT_REMOVEDIR : 0)) return;
    snprintf(aside, sizeof aside, "aside-%ld-%ld", (long)s.st_ino, (long)getpid());
    (void)!renameat(c->folder, name, c->folder, aside);
}

/* Waits for another process that builds it; where there are no locks, both do. */
bool cache_lock(ProgramCache *c) {
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    clear_place(c, LOCK);
    c->lock = openat(c->folder, LOCK, flags, 0600);
    int held = -1;
    while (c->lock >= 0 && (held = flock(c->lock, LOCK_EX)) && errno == EINTR)
        ;
    clear_place(c, name_in(c->fresh));
    return !held && !unlinkat(c->folder, name_in(c->fresh), 0);
}

/* == Programs ============================================================= */

/* Behind a program; its sum is that of all bytes before. */
typedef struct Trailer {
    char word[8];
    uint64_t sum;
} Trailer;

static const char program_cache_word[8] = "strata01";

/* The sum of a file's first bytes; false if they cannot be read. */
static bool sum_of(int fd, int64_t bytes, uint64_t *sum) {
    char piece[65536];
    Xxh64 x;
    xxh64_start(&x, 0);
    for (int64_t at = 0; at < bytes;) {
        size_t want = bytes - at < (int64_t)sizeof piece ? (size_t)(bytes - at) : sizeof piece;
        ssize_t n = pread(fd, piece, want, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        xxh64_add(&x, piece, (size_t)n);
        at += n;
    }
    *sum = xxh64_end(&x);
    return true;
}

static bool is_whole(int fd, int64_t size) {
    Trailer t;
    uint64_t sum;
    int64_t bytes = size - (int64_t)sizeof t;
    return bytes > 0 && pread(fd, &t, sizeof t, bytes) == sizeof t
        && !memcmp(t.word, program_cache_word, sizeof program_cache_word) && sum_of(fd, bytes, &sum)
        && sum == t.sum;
}

static const char *wrong_with(int fd) {
    struct stat s;
    if (fstat(fd, &s)) return "one that cannot be looked at";
    if (!S_ISREG(s.st_mode)) return "no regular file";
    const char *why = cache_unsafe(&s);
    return why ? why : is_whole(fd, s.st_size) ? NULL : "a damaged one";
}

int cache_find(const ProgramCache *c, const char **found) {
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(c->folder, name_in(c->path), flags);
    *found = fd >= 0      ? wrong_with(fd)
        : errno == ENOENT ? NULL
        : errno == ELOOP  ? "a symbolic link"
                          : strerror(errno);
    if (fd < 0 || !*found) return fd;
    close(fd);
    return -1;
}

/* Puts the sum behind a program, and lets nobody else write to it. */
static int seal(int fd, const char *path, Error *e) {
    Trailer t;
    struct stat s;
    memcpy(t.word, program_cache_word, sizeof program_cache_word);
    if (fstat(fd, &s) || !sum_of(fd, s.st_size, &t.sum)) return error_errno(e, path, "read", errno);
    ssize_t put = pwrite(fd, &t, sizeof t, s.st_size);
    if (put >= 0 && put < (ssize_t)sizeof t) errno = ENOSPC;
    if (put < (ssize_t)sizeof t || fchmod(fd, 0700)) return error_errno(e, path, "write", errno);
    return STATUS_OK;
}

int cache_put(const ProgramCache *c, Error *e) {
    const char *fresh = name_in(c->fresh);
    int fd = openat(c->folder, fresh, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return error_errno(e, c->fresh, "open it", errno);
    int status = seal(fd, c->fresh, e);
    close(fd); /* a file that is open for writing cannot be executed */
    clear_place(c, name_in(c->path));
    if (!status && renameat(c->folder, fresh, c->folder, name_in(c->path)))
        status = error_errno(e, c->path, "put it in place", errno);
    if (status) unlinkat(c->folder, fresh, 0);
    return status;
}
