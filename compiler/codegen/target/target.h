/* SPDX-License-Identifier: MIT
** Processors and LLVM's target machines. */
#ifndef STRATA_TARGET_H
#define STRATA_TARGET_H

#include "codegen.h"

#include <llvm-c/TargetMachine.h>

/* What code is made for: LLVM's processor and further features, the kernel library's number
** (blobs.h); 'bits': the features it needs, FEATURE_.. of levels.h; 'narrows': one instruction
** rounds to bfloat16; 'pairs': one multiplies pairs of them, 'tiles': whole tiles of them, float32
** in parts too; 'special': only products of bfloat16 and small weights gain by it; 'cache_bytes':
** what the second-level cache of a core has at least, for most that have these features. */
typedef struct Level {
    const char *name, *cpu, *features;
    int library, lanes;
    bool fma;
    uint64_t bits;
    bool narrows, pairs, tiles, special;
    int64_t cache_bytes;
} Level;

/* "native" or a name; 'special': with what it has for products of bfloat16 and small weights.  NULL
** and one line in error if there is none. */
const Level *target_level(const char *cpu, bool special, Error *e);
/* The level that has a kernel library. */
const Level *target_of_library(int library);
/* A machine of its own for each module; NULL and one line in error. */
LLVMTargetMachineRef target_open(const Level *l, const CodegenOptions *o, Error *e);
/* What LLVM is told once, before any code is generated. */
void target_options(void);

#endif
