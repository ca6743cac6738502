/* SPDX-License-Identifier: MIT
** See kernel_sweep.h. */
#include "kernel_sweep.h"
#include "array.h"

#include "temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NAME = 64, LONG_AGO = 3600 };

typedef struct Entry {
    char name[NAME + 1];
    struct timespec used;
    int64_t bytes;
} Entry;

typedef struct Entries {
    Entry *at;
    size_t n, most;
    int64_t bytes;
    int left; /* by commands that were killed, removed */
} Entries;

static int older_first(const void *a, const void *b) {
    const struct timespec *x = &((const Entry *)a)->used, *y = &((const Entry *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool is_kernel(const char *name) {
    return strlen(name) == NAME && strspn(name, "0123456789abcdef") == NAME;
}

/* What there is no memory for stays. */
static void sweep_add(Entries *e, const char *name, const struct stat *s) {
    if (!ARRAY_ROOM(e->at, e->n, e->most, 1024)) return;
    Entry *to = &e->at[e->n++];
    memcpy(to->name, name, NAME + 1);
    to->used = s->st_mtim, to->bytes = s->st_size;
    e->bytes += s->st_size;
}

/* Without locks, its age says whether somebody still writes it. */
static void remove_left(int folder, const char *name, const struct stat *s, Entries *e) {
    int fd;
    TemporaryState state = temporary_look(folder, name, S_IFREG, &fd);
    bool old = state == TEMPORARY_UNLOCKED && time(NULL) - s->st_mtim.tv_sec > LONG_AGO;
    bool left = state == TEMPORARY_LEFT && !temporary_is_fresh(fd);
    if ((left || old) && !unlinkat(folder, name, 0)) e->left++;
    if (fd >= 0) close(fd);
}

static void sweep_look_at(int folder, const char *name, Entries *e) {
    struct stat s;
    bool fresh = !strncmp(name, KERNEL_FRESH, sizeof KERNEL_FRESH - 1);
    if ((!fresh && !is_kernel(name)) || fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW)
        || !S_ISREG(s.st_mode))
        return;
    if (fresh) remove_left(folder, name, &s, e);
    else sweep_add(e, name, &s);
}

static void remove_oldest(int folder, Entries *e, int64_t most) {
    qsort(e->at, e->n, sizeof *e->at, older_first);
    for (size_t i = 0; i < e->n && e->bytes > most; i++) {
        unlinkat(folder, e->at[i].name, 0);
        e->bytes -= e->at[i].bytes;
    }
}

int kernel_sweep(int folder, int64_t most) {
    Entries e = { 0 };
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d && copy >= 0) close(copy);
    if (!d) return 0;
    for (const struct dirent *x; (x = readdir(d));)
        sweep_look_at(folder, x->d_name, &e);
    closedir(d);
    if (e.bytes > most) remove_oldest(folder, &e, most - most / 4);
    free(e.at);
    return e.left;
}
