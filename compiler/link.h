#ifndef STRATA_LINK_H
#define STRATA_LINK_H

#include "build.h"

/* Makes a program, archive or shared library of an object; exit status. */
int link_output(const BuildOptions *o, const char *object, const char *result);

#endif
