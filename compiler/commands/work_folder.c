/* SPDX-License-Identifier: MIT
** See work_folder.h. */
#include "work_folder.h"

#include "command.h"
#include "remove.h"
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEGINNING "strata-work-"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
enum { HOST = 32, RANDOM_LETTERS = 6, ATTEMPTS = 16 };

/* As it is in names: python/strata/temporary.py makes the same of it. */
static void host_name(char host[HOST + 1]) {
    char name[256] = "";
    if (gethostname(name, sizeof name - 1)) strcpy(name, "host");
    print_text(host, HOST + 1, "%.*s", HOST, *name ? name : "host");
    for (char *c = host; *c; c++)
        if (!strchr(LETTERS, *c)) *c = '_';
}

/* == What is left ========================================================= */

typedef struct Sweep {
    char own[sizeof BEGINNING + HOST + 1]; /* what names of this host's begin with */
    const char *where;
    int folder;
    FILE *console;
} Sweep;

/* "strata-work-HOST-XXXXXX", of any host. */
static bool is_work_folder(const char *name, const void *user) {
    (void)user;
    size_t n = sizeof BEGINNING - 1;
    if (strncmp(name, BEGINNING, n) != 0) return false;
    size_t host = strspn(name + n, LETTERS);
    const char *dash = name + n + host;
    return host && *dash == '-' && strlen(dash + 1) >= RANDOM_LETTERS
        && strspn(dash + 1, LETTERS) == strlen(dash + 1);
}

static void folder_take(const char *name, int fd, void *user) {
    const Sweep *s = user;
    char path[PATH_MAX];
    struct stat st;
    if (fstat(fd, &st) || st.st_mode & (S_IWGRP | S_IWOTH)) return;
    print_text(path, sizeof path, "%s/%s", s->where, name);
    if (strncmp(name, s->own, strlen(s->own)) != 0) {
        temporary_note(s->console, path,
                       ": left by a command of another host, if it does not run there any more; "
                       "may be removed then");
        return;
    }
    remove_content(fd);
    if (!unlinkat(s->folder, name, AT_REMOVEDIR))
        temporary_note(s->console, path, ", which a command that was killed left: removed");
    else if (errno != ENOENT)
        temporary_note(s->console, path, ": left by a command that was killed, cannot be removed");
}

static void folder_sweep(const char *where, const char *host, FILE *console) {
    Sweep s = { .where = where, .console = console };
    print_text(s.own, sizeof s.own, BEGINNING "%s-", host);
    s.folder = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s.folder < 0) return;
    temporary_search(s.folder, &(TemporarySearch){ S_IFDIR, is_work_folder, folder_take, &s });
    close(s.folder);
}

/* == A new one ============================================================ */

/* Nobody took it for one that is left, between its making and its lock; false: errno. */
static bool hold(WorkFolder *w, bool *again) {
    w->lock = open(w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int number = w->lock < 0 ? errno : temporary_lock(w->lock);
    *again = number == ENOENT || number == EWOULDBLOCK;
    if (!number && !temporary_is(AT_FDCWD, w->path, w->lock)) *again = !errno, number = errno;
    else if (number == ENOLCK) number = 0;
    if (!number && !*again) return true;
    if (w->lock >= 0) close(w->lock);
    w->lock = -1;
    errno = number;
    return false;
}

static int folder_make(WorkFolder *w, const char *where, const char *host, Allowance *a, Error *e) {
    bool again = true;
    for (int attempt = 0; again && attempt < ATTEMPTS; attempt++) {
        int n = print_text(w->path, sizeof w->path, "%s/" BEGINNING "%s-XXXXXX", where, host);
        if (n >= (int)sizeof w->path)
            return error_set(e, STATUS_USER,
                             "TMPDIR: expected a name of at most %d bytes, found a longer one",
                             WORK_FOLDER_PATH - (int)sizeof BEGINNING - HOST - 8);
        if (!mkdtemp(w->path))
            return error_errno(e, w->path, "make a folder for temporary files", errno);
        allowance_keep(a, w->path);
        if (hold(w, &again)) return STATUS_OK;
        int number = errno;
        allowance_drop(a, w->path);
        errno = number;
    }
    return error_errno(e, w->path, "hold it", errno);
}

int work_folder_open(WorkFolder *w, Allowance *a, Error *e) {
    const char *where = getenv("TMPDIR");
    char host[HOST + 1];
    if (!where || !*where) where = "/tmp";
    *w = (WorkFolder){ .lock = -1 };
    host_name(host);
    folder_sweep(where, host, a->console);
    return folder_make(w, where, host, a, e);
}

void work_folder_close(WorkFolder *w, Allowance *a) {
    if (*w->path) allowance_drop(a, w->path);
    if (w->lock >= 0) close(w->lock);
    *w = (WorkFolder){ .lock = -1 };
}
