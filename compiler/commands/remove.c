/* SPDX-License-Identifier: MIT
** Removes folders with the system's own calls, because opendir and nftw allocate memory.
*/
#include "remove.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEEPEST = 8 };

static void empty(int folder, int depth);

static bool remove_entry(int folder, const char *name, int depth) {
    if (!unlinkat(folder, name, 0)) return true;
    int inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) return false;
    if (depth < DEEPEST) empty(inner, depth + 1);
    close(inner);
    return !unlinkat(folder, name, AT_REMOVEDIR);
}

/* Removed entries may hide others from a list that is half read, so it is read again. */
static void empty(int folder, int depth) {
    _Alignas(struct dirent64) char list[2048];
    for (bool more = true; more;) {
        long n;
        more = false;
        lseek(folder, 0, SEEK_SET);
        while ((n = syscall(SYS_getdents64, folder, list, sizeof list)) > 0)
            for (long at = 0; at < n;) {
                const struct dirent64 *e = (struct dirent64 *)(list + at);
                bool self = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
                if (!self && remove_entry(folder, e->d_name, depth)) more = true;
                at += e->d_reclen;
            }
    }
}

void remove_content(int folder) { empty(folder, 0); }

void remove_folder(const char *path) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0) {
        empty(folder, 0);
        close(folder);
    }
    rmdir(path);
}
