/* SPDX-License-Identifier: MIT
** Objects of row kernels from earlier builds, in one folder of the cache.  Each is a file named
** after a hash of everything that made it: the kernel and the compiler.  A file that is damaged,
** or that cannot be read or written, counts as absent, and no message says so.
*/
#ifndef STRATA_KERNEL_CACHE_H
#define STRATA_KERNEL_CACHE_H

#include "codegen.h"
#include "hash.h"

#include <stdatomic.h>
#include <stdio.h>

typedef struct KernelCache {
    KernelStore store;
    int folder; /* -1: there is none that may be used */
    Sha256 compiler;
    atomic_int kept; /* files; -1: there is no room for more */
} KernelCache;

/* The cache stays where it is until it is closed. */
void kernel_cache_open(KernelCache *c);
/* Of more than is to be kept, what was not used for longest goes; what commands left that were
** killed goes too, and 'console' is told. */
void kernel_cache_close(KernelCache *c, FILE *console);

#endif
