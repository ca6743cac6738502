/* SPDX-License-Identifier: MIT
** See pages.h. */
#include "pages.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE = 2 << 20, KEPT = 512 };

/* What was freed last, to be taken again: a page that the system gives must be found and cleared
** there first, which takes several times as long as clearing it here.  One pass frees what the next
** one takes; only the thread that runs them does either. */
static struct {
    void *at;
    size_t bytes;
} pages_kept[KEPT];
static int nkept;

static void *take_kept(size_t bytes) {
    for (int i = nkept; i-- > 0;) {
        if (pages_kept[i].bytes != bytes) continue;
        void *at = pages_kept[i].at;
        pages_kept[i] = pages_kept[--nkept];
        return at;
    }
    return NULL;
}

static void *map(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void *pages_take_used(size_t bytes, bool *used) {
    *used = false;
    if (bytes < HUGE) {
        void *few = calloc(1, bytes ? bytes : 1);
        if (!few && pages_leave()) few = calloc(1, bytes ? bytes : 1);
        return checked(few);
    }
    void *at = take_kept(bytes);
    if (at) return *used = true, at;
    at = map(bytes);
    if (!at && pages_leave()) at = map(bytes);
    checked(at);
    madvise(at, bytes, MADV_HUGEPAGE); /* without, it is only slower */
    return at;
}

void *pages_take(size_t bytes) {
    bool used;
    void *at = pages_take_used(bytes, &used);
    return used ? memset(at, 0, bytes) : at;
}

void pages_free(void *at, size_t bytes) {
    if (bytes < HUGE) {
        free(at);
        return;
    }
    if (nkept == KEPT) {
        munmap(pages_kept[0].at, pages_kept[0].bytes);
        memmove(pages_kept, pages_kept + 1, --nkept * sizeof *pages_kept);
    }
    pages_kept[nkept].at = at;
    pages_kept[nkept++].bytes = bytes;
}

bool pages_leave(void) {
    bool any = nkept;
    while (nkept) {
        nkept--;
        munmap(pages_kept[nkept].at, pages_kept[nkept].bytes);
    }
    return any;
}
