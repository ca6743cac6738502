/* SPDX-License-Identifier: MIT
** See pages.h. */
#include "pages.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE = 2 << 20, KEPT = 24 };

/* What was freed last, to be taken again: a page that the system gives must be found and cleared
** there first, which takes several times as long as clearing it here.  One pass frees what the next
** one takes; only the thread that runs them does either. */
static struct {
    void *at;
    size_t bytes;
} kept[KEPT];
static int nkept;

static void *take_kept(size_t bytes) {
    for (int i = nkept; i-- > 0;) {
        if (kept[i].bytes != bytes) continue;
        void *at = kept[i].at;
        kept[i] = kept[--nkept];
        return memset(at, 0, bytes);
    }
    return NULL;
}

void *pages_take(size_t bytes) {
    if (bytes < HUGE) return checked_new(1, bytes);
    void *at = take_kept(bytes);
    if (at) return at;
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) checked(NULL);
    madvise(at, bytes, MADV_HUGEPAGE); /* without, it is only slower */
    return at;
}

void pages_free(void *at, size_t bytes) {
    if (bytes < HUGE) {
        free(at);
        return;
    }
    if (nkept == KEPT) {
        munmap(kept[0].at, kept[0].bytes);
        memmove(kept, kept + 1, --nkept * sizeof *kept);
    }
    kept[nkept].at = at;
    kept[nkept++].bytes = bytes;
}

void pages_leave(void) {
    while (nkept) {
        nkept--;
        munmap(kept[nkept].at, kept[nkept].bytes);
    }
}
