/* SPDX-License-Identifier: MIT
** The objects of row kernels that were compiled before, in one folder of the cache, each a file
** that is named after a hash of all that made it: kernel and compiler.  What is not as it was put
** there, or cannot be read or written, is as if it were not there, and nobody is told.
*/
#ifndef STRATA_KERNEL_CACHE_H
#define STRATA_KERNEL_CACHE_H

#include "codegen.h"
#include "hash.h"

#include <stdatomic.h>

typedef struct KernelCache {
    KernelStore store;
    int folder; /* -1: there is none that may be used */
    Sha256 compiler;
    atomic_int kept; /* files; -1: there is no room for more */
} KernelCache;

/* The cache stays where it is until it is closed. */
void kernel_cache_open(KernelCache *c);
/* Of more than is to be kept, what was not used for longest goes. */
void kernel_cache_close(KernelCache *c);

#endif
