/* SPDX-License-Identifier: MIT
** Compiles each row kernel of a program to an object of its own, so that a build can reuse
** unchanged kernels of another build.
*/
#ifndef STRATA_KERNEL_OBJECTS_H
#define STRATA_KERNEL_OBJECTS_H

#include "codegen.h"
#include "target.h"
#include "tables.h"

typedef struct KernelObjects KernelObjects;

KernelObjects *kernel_objects_open(const Level *l, const CodegenOptions *o);
/* The kernel's name stays where it is until they are closed. */
void kernel_objects_add(KernelObjects *k, const Rows *r, const RowKernel *kernel);
/* Waits until all are made: out->kernels. */
int kernel_objects_close(KernelObjects *k, CompiledModel *out, Error *e);

/* kernel_key.c: a hash of all that an object depends on, but for the compiler itself. */
void kernel_key(const Level *l, int level, const Rows *r, const RowsIdentity *identity, bool plain,
                char key[65]);

#endif
