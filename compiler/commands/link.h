#ifndef STRATA_LINK_H
#define STRATA_LINK_H

#include "build.h"

#include <signal.h>

/* The path of libstrata.a; false if there is none. */
bool link_library(char *path, size_t size);

/* Makes a program, archive or shared library of an object, with the system's cc and ar; a
** program of two objects, if 'side' is not NULL.  'mask' is the signal mask for them. */
int link_output(const BuildOptions *o, const char *object, const char *side, const char *result,
                const sigset_t *mask, Error *e);

#endif
