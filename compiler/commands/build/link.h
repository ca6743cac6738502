/* SPDX-License-Identifier: MIT */
#ifndef STRATA_LINK_H
#define STRATA_LINK_H

#include "build.h"

#include <signal.h>

/* Is /proc there, which link_library needs? */
bool link_proc(void);
/* The path of libstrata.a; false if there is none. */
bool link_library(char *path, size_t size);

/* What is linked: row kernels may be in an archive, of which all is taken, and the kernel library
** in an object of its own; a program may carry a file, which is assembled, and
** so is the mark of what a build made.  NULL: there is none. */
typedef struct LinkObjects {
    const char *own, *kernels, *library, *carried, *mark;
    const char *blas;      /* OpenBLAS, an archive or not; it is left out where nothing calls it */
    const char *temporary; /* the folder for the tools' own temporary files */
} LinkObjects;

/* With the system's cc, ar and objcopy; 'mask' is the signal mask for them.  One object: */
int link_object(const LinkObjects *objects, const char *result, const sigset_t *mask, Error *e);
/* A program or a shared library; an archive, of one object. */
int link_output(EmitKind emit, const LinkObjects *objects, const char *result, const sigset_t *mask,
                Error *e);

#endif
