/* strata build, as the other commands use it. */
#ifndef STRATA_BUILD_H
#define STRATA_BUILD_H

#include "codegen.h"
#include "spec.h"

typedef struct BuildOptions {
    const char *spec, *output;      /* output NULL: the model's name */
    bool no_blas;
    CodegenOptions code;
} BuildOptions;

/* Builds a loaded spec; prints one line to stderr and returns an exit status on failure. */
int build_model(const Model *m, BuildOptions *o);

#endif
