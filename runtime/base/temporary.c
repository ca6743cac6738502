/* SPDX-License-Identifier: MIT
** See temporary.h. */
#include "temporary.h"

#include "escape.h"
#include "json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { NAMED = 8, FRESH = 2 }; /* in one line, others are counted; seconds */

int temporary_lock(int fd) {
    if (!flock(fd, LOCK_EX | LOCK_NB)) return 0;
    bool none = errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL || errno == EBADF;
    return none ? ENOLCK : errno;
}

bool temporary_is(int folder, const char *name, int fd) {
    struct stat a, b;
    errno = 0;
    if (fstat(fd, &a) || fstatat(folder, name, &b, AT_SYMLINK_NOFOLLOW)) {
        if (errno == ENOENT) errno = 0;
        return false;
    }
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Of an open one. */
static TemporaryState state_of(int folder, const char *name, int fd) {
    int number = temporary_lock(fd);
    if (number == EWOULDBLOCK) return TEMPORARY_HELD;
    if (number && number != ENOLCK) return errno = number, TEMPORARY_UNKNOWN;
    if (!temporary_is(folder, name, fd)) return errno ? TEMPORARY_UNKNOWN : TEMPORARY_NONE;
    return number ? TEMPORARY_UNLOCKED : TEMPORARY_LEFT;
}

TemporaryState temporary_look(int folder, const char *name, mode_t kind, int *fd) {
    struct stat s;
    *fd = -1;
    if (fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? TEMPORARY_NONE : TEMPORARY_UNKNOWN;
    mode_t is = s.st_mode & S_IFMT;
    if ((is != S_IFREG && is != S_IFDIR) || (kind && is != kind)) return TEMPORARY_OTHER;
    if (s.st_uid != geteuid()) return TEMPORARY_FOREIGN;
    *fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0) return errno == ENOENT ? TEMPORARY_NONE : TEMPORARY_UNKNOWN;
    TemporaryState state = state_of(folder, name, *fd);
    if (state == TEMPORARY_LEFT || state == TEMPORARY_UNLOCKED) return state;
    int number = errno;
    close(*fd);
    *fd = -1;
    errno = number;
    return state;
}

/* == What is left ========================================================= */

static bool is_empty_folder(int fd) {
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d && copy >= 0) close(copy);
    while (d && n < 3 && readdir(d))
        n++;
    if (d) closedir(d);
    return n < 3; /* itself and the one around it */
}

/* Its maker may be about to lock it: nothing is in it then. */
bool temporary_is_fresh(int fd) {
    struct stat s;
    if (fstat(fd, &s)) return true;
    time_t age = time(NULL) - s.st_mtime;
    if (age < -FRESH || age > FRESH) return false;
    return S_ISDIR(s.st_mode) ? is_empty_folder(fd) : !s.st_size;
}

void temporary_search(int folder, const TemporarySearch *s) {
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d && copy >= 0) close(copy);
    if (!d) return;
    for (const struct dirent *x; (x = readdir(d));) {
        if (!s->is(x->d_name, s->user)) continue;
        if (temporary_look(folder, x->d_name, s->kind, &fd) == TEMPORARY_LEFT
            && !temporary_is_fresh(fd))
            s->found(x->d_name, fd, s->user);
        if (fd >= 0) close(fd);
    }
    closedir(d);
}

static void add_shown(Text *t, const char *text) {
    size_t room = text_escape_room(strlen(text));
    char *shown = malloc(room);
    if (shown) text_bytes(t, shown, text_escape(shown, room, text, strlen(text)));
    free(shown);
}

void temporary_note(FILE *to, const char *path, const char *what) {
    Text t = { 0 };
    text_add(&t, "note: ");
    add_shown(&t, path);
    text_add(&t, "%s\n", what);
    if (!t.failed) fputs(t.at, to), fflush(to);
    text_free(&t);
}

typedef struct Telling {
    const char *before, *ending, *but;
    Text names;
    int n;
} Telling;

static bool is_told(const char *name, const void *user) {
    const Telling *t = user;
    size_t n = strlen(name), k = strlen(t->ending);
    return n > k && !strcmp(name + n - k, t->ending) && (!t->but || strcmp(name, t->but) != 0);
}

static void temporary_add_name(const char *name, int fd, void *user) {
    Telling *t = user;
    (void)fd;
    if (++t->n > NAMED) return;
    text_add(&t->names, t->n > 1 ? ", " : "");
    add_shown(&t->names, t->before);
    add_shown(&t->names, name);
}

static void tell_temporary(int folder, Telling t, const char *what, FILE *to) {
    temporary_search(folder, &(TemporarySearch){ 0, is_told, temporary_add_name, &t });
    if (t.n > NAMED) text_add(&t.names, " and %d others", t.n - NAMED);
    if (t.n && !t.names.failed) fprintf(to, "note: %s: %s\n", t.names.at, what), fflush(to);
    text_free(&t.names);
}

void temporary_tell(int folder, const char *before, const char *but, FILE *to) {
    tell_temporary(folder, (Telling){ .before = before, .ending = ".strata-tmp", .but = but },
                   "left by a command that was killed, written by nobody any more; may be removed",
                   to);
    tell_temporary(folder, (Telling){ .before = before, .ending = ".strata-old" },
                   "what was there before, left by a command that was killed while it replaced it; "
                   "may be renamed back or removed",
                   to);
}
