/* SPDX-License-Identifier: MIT
** strata build: its options, and the build itself as other commands use it. */
#ifndef STRATA_BUILD_H
#define STRATA_BUILD_H

#include "allowance.h"
#include "codegen.h"
#include "error.h"
#include "options.h"
#include "spec.h"

#include <signal.h>

/* What came of a build. */
typedef struct BuildFacts {
    int64_t code_bytes; /* machine code of the model's object */
    double seconds;     /* processor time of compiling, without linking */
} BuildFacts;

/* Who multiplies matrices of float32; the default is 'auto' for what is linked here, 'generated'
** for objects.  Without a measurement of this machine, 'auto' is 'generated'. */
typedef enum Multiply {
    MULTIPLY_DEFAULT,
    MULTIPLY_AUTO,
    MULTIPLY_GENERATED,
    MULTIPLY_OPENBLAS
} Multiply;

/* As --blas names it; NULL: the default.  Nobody is called otherwise: MULTIPLIERS. */
enum { MULTIPLIERS = MULTIPLY_OPENBLAS + 1 };
Multiply multiply_named(const char *name);

typedef struct BuildOptions {
    const char *spec, *output; /* output NULL: the model's name */
    const char *depfile;       /* NULL: none */
    bool keeps; /* of what is there all but what a build wrote; else what is there is nobody's */
    Allowance *allowance;
    CodegenOptions code; /* 'products' and 'ratios' are found by: */
    Multiply multiply;
    const char *blas;       /* the OpenBLAS that it is linked with, found too; NULL: none */
    bool no_cache;          /* no row kernel is taken from the cache, or put there */
    BuildFacts *facts;      /* filled if not NULL; the output is an object or a program */
    const sigset_t *before; /* of process_hold, if the caller holds signals back; NULL: held here */
} BuildOptions;

/* From the command line of strata build. */
int build_options(BuildOptions *b, const Options *o, Error *e);
/* Whether it is for another system than Linux: nothing is linked, and there is no libstrata. */
bool build_is_foreign(const CodegenOptions *o);

/* Loads a spec with what is allowed; builds it; its notes to standard error. */
Model *build_load(const char *spec, Allowance *a, Error *e);
int build_model(const Model *m, BuildOptions *o, Error *e);
void build_notes(const Model *m, const Allowance *a);

/* depfile.c: 'path' becomes a rule for make: 'output' depends on the files that were read. */
int depfile_write(const Model *m, const char *output, const char *path, Error *e);

/* build_places.c: what a build writes; header, depfile: NULL, there is none. */
typedef struct BuildPlaces {
    const char *output, *header, *depfile;
} BuildPlaces;
/* May it be written: are they different, none read, and what is there a build's? */
int build_places(const BuildPlaces *p, const Model *m, bool keeps, Error *e);
/* The mark of a text, to be put at its end: "" for what is no text. */
const char *build_mark(EmitKind emit);
/* An assembly file whose object marks what is linked with it. */
int build_mark_file(const char *path, Error *e);
/* The first part of a rule: OUTPUT and a colon. */
void depfile_target(Text *t, const char *output);

/* code_size.c: bytes of machine code in an ELF object, or an archive of such. */
int code_size(const char *path, int64_t *bytes, Error *e);

#endif
