/* SPDX-License-Identifier: MIT
** See preload.h. */
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int Main(int argc, char **argv, char **environment);

/* One for the process: what a replaced function knows, it can know from nowhere else. */
static struct {
    FaultCount *shared; /* NULL: nothing is counted */
    uint64_t fail;
    Main *main;
} here;

bool preload_counts(void) { return here.shared; }
uint64_t preload_next(void) { return __atomic_add_fetch(&here.shared->count, 1, __ATOMIC_SEQ_CST); }
uint64_t preload_fault(void) { return here.fail; }
void preload_say(const char *what) {
    memccpy(here.shared->what, what, 0, sizeof here.shared->what - 1);
}

/* By system calls: open and mmap may be what the library replaces. */
static void begin(void) {
    const char *fail = getenv("FAULT_AT"), *name = getenv("FAULT_COUNT");
    long file = syscall(SYS_openat, AT_FDCWD, name ? name : "", O_RDWR | O_CLOEXEC, 0);
    if (file < 0) _exit(125);
    long at = syscall(SYS_mmap, NULL, sizeof *here.shared, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                      0);
    syscall(SYS_close, file);
    if (at == -1) _exit(125);
    const char *files = getenv("FAULT_FILES");
    rlim_t files_open = files ? strtoull(files, NULL, 10) : 0;
    struct rlimit most = { files_open, files_open };
    if (files && setrlimit(RLIMIT_NOFILE, &most)) _exit(125);
    preload_prepare();
    here.fail = strtoull(fail ? fail : "0", NULL, 10);
    here.shared = (void *)at;
}

static int counted_main(int argc, char **argv, char **environment) {
    const char *name = getenv("FAULT_OF");
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
