/* SPDX-License-Identifier: MIT
** The processors that code is made for.  A target is a file of this folder with a Target, and a
** folder of runtime/target with its levels, its instructions in C and its peak; nothing else names
** a processor.
*/
#ifndef STRATA_TARGET_H
#define STRATA_TARGET_H

#include "codegen.h"
#include "target_rates.h"

#include <llvm-c/TargetMachine.h>

typedef struct Target Target;

/* What code is made for: LLVM's processor and further features, the kernel library's number
** (blobs.h); 'bits': the features it needs, FEATURE_.. of levels.h; 'narrows': one instruction
** rounds to bfloat16; 'pairs': one multiplies pairs of them, 'tiles': whole tiles of them, float32
** in parts too; 'special': only products of bfloat16 and small weights gain by it; 'cache_bytes':
** what the second-level cache of a core has at least, for most that have these features. */
typedef struct Level {
    const Target *target;
    const char *name, *cpu, *features;
    int library, lanes;
    bool fma;
    uint64_t bits;
    bool narrows, pairs, tiles, special;
    int64_t cache_bytes;
} Level;

/* A processor that a user may name: its level, and that for bfloat16 and small weights. */
typedef struct TargetProcessor {
    const char *name;
    int level, special; /* libraries */
} TargetProcessor;

/* A processor that OpenBLAS has kernels for; 'bits': of their vectors; 'best': the one to name on a
** processor with such vectors that OpenBLAS does not know. */
typedef struct TargetBlasCore {
    const char *name;
    int bits;
    bool best;
} TargetBlasCore;

struct Target {
    const char *name;    /* how its triples begin */
    const char *triple;  /* the one for Linux */
    const char *plain;   /* LLVM's processor that every one of them is */
    const char *least;   /* what the plainest level asks for, in words */
    const char *example; /* a processor's name */
    void (*initialise)(void);
    /* FEATURE_.. that LLVM's list of the host's features, and the system, have; NULL: the compiler
    ** does not run on such a processor */
    uint64_t (*host)(const char *features);
    const Level *level; /* plainest first */
    const TargetProcessor *processor;
    const TargetBlasCore *blas_core;
    int levels, processors, blas_cores;
    const char *const *options; /* command line of LLVM for it, NULL behind the last */
    TargetRates rates;
};

/* The target of a triple, or of this machine (NULL).  NULL and one line in error if there is
** none. */
const Target *target_of(const char *triple, Error *e);
/* A name, or "native" and NULL: this machine's, of another target than this machine's the plainest;
** 'special': with what it has for products of bfloat16 and small weights.  NULL and one line in
** error if there is none. */
const Level *target_level(const Target *t, const char *cpu, bool special, Error *e);
/* The level that has a kernel library. */
const Level *target_of_library(int library);
/* A machine of its own for each module; NULL and one line in error. */
LLVMTargetMachineRef target_open(const Level *l, const CodegenOptions *o, Error *e);
/* What LLVM is told once, before any code is generated. */
void target_options(const Target *t);
/* Whether LLVM's list has all of a list of features. */
bool target_has(const char *features, const char *names);

#endif
