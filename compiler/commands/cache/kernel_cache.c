/* SPDX-License-Identifier: MIT
** See kernel_cache.h.  A file is an object followed by a seal, a checksum of its name and its
** bytes.  It gets its name when it is complete, so that others find all of it or nothing.
*/
#include "kernel_cache.h"

#include "cache_folder.h"
#include "files.h"
#include "kernel_sweep.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 28, SELDOM = 3600 };

typedef struct Seal {
    char word[8];
    uint64_t sum;
} Seal;

static const char cache_word[8] = "kernel01";

/* == Names ================================================================ */

/* A file that is another one after every build and installation. */
static bool cache_add_file(Sha256 *h, const char *path) {
    struct stat s;
    if (stat(path, &s)) return false;
    const int64_t facts[] = { (int64_t)s.st_dev, (int64_t)s.st_ino, (int64_t)s.st_size,
                              (int64_t)s.st_mtim.tv_sec, (int64_t)s.st_mtim.tv_nsec };
    sha256_add(h, facts, sizeof facts);
    return true;
}

/* This program, and the library that LLVM is in, where it is in one. */
static bool add_compiler(Sha256 *h) {
    const char *llvm = codegen_llvm_file();
    char version[64];
    codegen_llvm(version, sizeof version);
    sha256_start(h);
    sha256_add(h, version, strlen(version) + 1);
    return cache_add_file(h, "/proc/self/exe") && (!llvm || cache_add_file(h, llvm));
}

static void cache_name_of(const KernelCache *c, const char *key, char name[65]) {
    Sha256 h = c->compiler;
    sha256_add(&h, key, strlen(key) + 1);
    sha256_text(&h, name);
}

static Seal seal_of(const char *name, const void *data, size_t size) {
    Seal t;
    Xxh64 x;
    memcpy(t.word, cache_word, sizeof cache_word);
    xxh64_start(&x, 0);
    xxh64_add(&x, name, strlen(name) + 1);
    xxh64_add(&x, data, size);
    t.sum = xxh64_end(&x);
    return t;
}

/* == Files ================================================================ */

static bool cache_write_all(int fd, const char *from, size_t size) {
    for (size_t at = 0; at < size;) {
        ssize_t n = write(fd, from + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}

/* What is used now and then is not the oldest. */
static void touch(int fd, const struct stat *s) {
    if (time(NULL) - s->st_mtime > SELDOM) (void)!futimens(fd, NULL);
}

/* The bytes of a file that is as it was put there; NULL: it is not. */
static char *cache_read_file(int fd, const char *name, size_t *size) {
    const Input in = { .fd = fd, .path = name };
    struct stat s;
    Seal t;
    Error unread;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode) || cache_unsafe(&s) || s.st_size <= (off_t)sizeof t
        || s.st_size > MOST_BYTES)
        return NULL;
    size_t all = (size_t)s.st_size;
    char *data = malloc(all);
    *size = all - sizeof t;
    bool good = data && !input_read(&in, 0, data, all, &unread);
    if (good) t = seal_of(name, data, *size);
    if (good && !memcmp(data + *size, &t, sizeof t)) return touch(fd, &s), data;
    free(data);
    return NULL;
}

static bool kernel_cache_find(void *cache, const char *key, void **data, size_t *size) {
    const KernelCache *c = cache;
    char name[65];
    cache_name_of(c, key, name);
    int fd = openat(c->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return false;
    *data = cache_read_file(fd, name, size);
    close(fd);
    return *data != NULL;
}

static bool cache_write_file(int folder, const char *fresh, const char *name, const void *data,
                             size_t size) {
    int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    if (temporary_lock(fd) == EWOULDBLOCK || !temporary_is(folder, fresh, fd)) {
        close(fd);
        errno = EEXIST; /* it was taken for one that is left */
        return false;
    }
    Seal t = seal_of(name, data, size);
    bool good = cache_write_all(fd, data, size) && cache_write_all(fd, (const char *)&t, sizeof t);
    if (close(fd)) good = false;
    if (good && !renameat(folder, fresh, folder, name)) return true;
    unlinkat(folder, fresh, 0);
    return false;
}

static void cache_keep(void *cache, const char *key, const void *data, size_t size) {
    KernelCache *c = cache;
    char name[65], fresh[64];
    if (atomic_load(&c->kept) < 0) return;
    cache_name_of(c, key, name);
    snprintf(fresh, sizeof fresh, KERNEL_FRESH "%ld-%.16s", (long)getpid(), name);
    if (cache_write_file(c->folder, fresh, name, data, size)) atomic_fetch_add(&c->kept, 1);
    else if (errno != EISDIR && errno != EEXIST) atomic_store(&c->kept, -1);
}

/* == The cache ============================================================ */

void kernel_cache_open(KernelCache *c) {
    Error ignored;
    char *outer, *wrong_folder = NULL;
    const char *wrong;
    *c = (KernelCache){ .store = { kernel_cache_find, cache_keep, c }, .folder = -1 };
    if (cache_path("build", &outer, &ignored)) return;
    if (add_compiler(&c->compiler))
        (void)!cache_open_inner(outer, "kernels", &c->folder, &wrong_folder, &wrong, &ignored);
    free(wrong_folder);
    free(outer);
}

static void tell_left(int n, FILE *console) {
    Error ignored;
    char *outer, said[128];
    if (!n || cache_path("build", &outer, &ignored)) return;
    print_text(said, sizeof said,
               "/kernels: %d file%s, which a command that was killed left: removed", n,
               n > 1 ? "s" : "");
    temporary_note(console, outer, said);
    free(outer);
}

void kernel_cache_close(KernelCache *c, FILE *console) {
    if (c->folder < 0) return;
    if (atomic_load(&c->kept)) tell_left(kernel_sweep(c->folder, MOST_BYTES), console);
    close(c->folder);
    c->folder = -1;
}
