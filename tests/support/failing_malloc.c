/*
** To be preloaded: lets an allocation of one program fail.  It counts from the beginning of main,
** over all processes that come of it by fork.
**   ALLOCATION_OF=NAME     the program; others that are started on the way are left alone
**   ALLOCATION_COUNT=FILE  eight bytes that hold the count
**   ALLOCATION_FAIL=N      the one that fails; 0: none
**   ALLOCATION_ALL=1       all after it fail, too
**   ALLOCATION_OWN=1       those that LLVM and the C++ library make for themselves do not count
*/
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

typedef int Main(int argc, char **argv, char **environment);

/* One for the process: what a replaced malloc knows, it can know from nowhere else. */
static struct {
    _Atomic uint64_t *count; /* NULL: nothing is counted */
    uint64_t fail;
    bool all;
    Main *main;
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
    if (!here.count || is_foreign(caller)) return false;
    uint64_t n = atomic_fetch_add(here.count, 1) + 1;
    if (n != here.fail && !(here.all && here.fail && n > here.fail)) return false;
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

static void begin(void) {
    const char *fail = getenv("ALLOCATION_FAIL");
    int file = open(getenv("ALLOCATION_COUNT"), O_RDWR | O_CLOEXEC);
    if (file < 0) _exit(125);
    here.fail = strtoull(fail ? fail : "0", NULL, 10);
    here.all = getenv("ALLOCATION_ALL") != NULL;
    void *count = mmap(NULL, sizeof *here.count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count == MAP_FAILED) _exit(125);
    close(file);
    if (getenv("ALLOCATION_OWN")) dl_iterate_phdr(note_foreign, NULL);
    here.count = count;
}

static int counted_main(int argc, char **argv, char **environment) {
    const char *name = getenv("ALLOCATION_OF");
    if (name && !strcmp(program_invocation_short_name, name)) begin();
    return here.main(argc, argv, environment);
}

int __libc_start_main(Main *main, int argc, char **argv, Main *init, void (*fini)(void),
                      void (*end)(void), void *stack) {
    int (*start)(Main *, int, char **, Main *, void (*)(void), void (*)(void), void *);
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    here.main = main;
    return start(counted_main, argc, argv, init, fini, end, stack);
}
