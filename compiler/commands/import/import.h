/* SPDX-License-Identifier: MIT
** What the files of strata import share. */
#ifndef STRATA_IMPORT_H
#define STRATA_IMPORT_H

#include "importer.h"
#include "spec.h"

/* A tensor of the spec that the folder has nothing for: initial values. */
typedef struct FreshTensor {
    char *name;
    const Param *param; /* of the model */
    uint64_t seed;
} FreshTensor;

typedef struct Import {
    CheckpointFolder folder;
    Json config;
    const char *name;                                  /* without its folder */
    char *spec, *weights, *tokenizer_from, *tokenizer; /* paths; the last two may be NULL */
    Text tokenizer_text;                               /* what is written to it */
    const char *residual, *route;                      /* other ones, as Lua; NULL: its own */
    const char *importer;                              /* a Lua file; NULL: the library's */
    Imported made;
    char tokenizer_sum[17]; /* of the tokenizer's file; "" where there is none */
    Error refused;          /* what programs cannot read in the tokenizer's file */
    Model *model;           /* what the spec makes */
    FreshTensor *fresh;
    int64_t fresh_count;
    Text left; /* with another mixer: names of tensors that nothing needs any more */
    int64_t left_count;
} Import;

/* Loads what the importer made of the spec, and holds it against the plan: every tensor of the
** model is planned, with its shape, and nothing else is.  With another mixer or route the plan
** becomes that: what is new begins with its initial values, what nothing needs is left over. */
int import_check(Import *i, Error *e);
/* import_text.c: the tokenizer's file, with what the folder says of texts; what programs cannot
** read of it becomes i->refused. */
int import_text(Import *i, Error *e);
/* import_places.c: may its files be written?  Of a spec that was edited since it says what would
** change.  Writes them, all or none, each with a mark by which the next import knows it. */
int import_places(Import *i, bool overwrite, Error *e);
int import_write(Import *i, Error *e);
void import_tell(const Import *i); /* what became of tensors, of another mixer */

#endif
