/* SPDX-License-Identifier: MIT
** To be preloaded: lets an allocation of one program fail (preload.h).
**   ALLOCATION_ALL=1       all after it fail, too
**   ALLOCATION_OWN=1       those that LLVM and the C++ library make for themselves do not count
*/
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

/* One for the process: what a replaced malloc knows, it can know from nowhere else. */
static struct {
    bool all;
    struct {
        uintptr_t first, end;
    } foreign[2]; /* where code lies that does not count */
} here;

static bool is_foreign(const void *caller) {
    uintptr_t at = (uintptr_t)caller;
    for (int i = 0; i < 2; i++)
        if (at >= here.foreign[i].first && at < here.foreign[i].end) return true;
    return false;
}

static bool fails(const void *caller) {
    if (!preload_counts() || is_foreign(caller)) return false;
    uint64_t n = preload_next(), fail = preload_fault();
    if (n != fail && !(here.all && fail && n > fail)) return false;
    errno = ENOMEM;
    return true;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) { return fails(CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
    return fails(CALLER) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *p, size_t size) { return fails(CALLER) ? NULL : __libc_realloc(p, size); }
void *memalign(size_t align, size_t size) {
    return fails(CALLER) ? NULL : __libc_memalign(align, size);
}
void *aligned_alloc(size_t align, size_t size) {
    return fails(CALLER) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size) {
    int before = errno;
    void *got = fails(CALLER) ? NULL : __libc_memalign(align, size);
    errno = before;
    if (got) *p = got;
    return got ? 0 : ENOMEM;
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    if (fails(CALLER)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}

static int note_foreign(struct dl_phdr_info *file, size_t size, void *unused) {
    (void)size, (void)unused;
    int which = strstr(file->dlpi_name, "libLLVM") ? 0
        : strstr(file->dlpi_name, "libstdc++")     ? 1
                                                   : -1;
    for (int i = 0; which >= 0 && i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        here.foreign[which].first = file->dlpi_addr + part->p_vaddr;
        here.foreign[which].end = here.foreign[which].first + part->p_memsz;
    }
    return 0;
}

void preload_prepare(void) {
    here.all = getenv("ALLOCATION_ALL") != NULL;
    if (getenv("ALLOCATION_OWN")) dl_iterate_phdr(note_foreign, NULL);
}
