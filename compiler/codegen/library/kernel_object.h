/* SPDX-License-Identifier: MIT
** The kernel library's objects, inside the compiler. */
#ifndef STRATA_KERNEL_OBJECT_H
#define STRATA_KERNEL_OBJECT_H

#include <stddef.h>

/* The object of CompiledModel's 'library'. */
const void *kernel_object(int library, size_t *size);

#endif
