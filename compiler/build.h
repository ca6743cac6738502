/* strata build: its options, and the build itself as other commands use it. */
#ifndef STRATA_BUILD_H
#define STRATA_BUILD_H

#include "codegen.h"
#include "error.h"
#include "spec.h"

typedef struct BuildOptions {
    const char *spec, *output;      /* output NULL: the model's name */
    CodegenOptions code;
} BuildOptions;

/* The command line after "build". */
int build_parse(BuildOptions *o, int argc, char **argv, Error *e);

/* Builds a loaded spec. */
int build_model(const Model *m, BuildOptions *o, Error *e);

#endif
