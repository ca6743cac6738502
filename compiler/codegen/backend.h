/* SPDX-License-Identifier: MIT
** What a back end is.  It is given finished plans and tables, and writes the code of row kernels
** and the tables themselves; an anchor's kernel is in the library that it links.
*/
#ifndef STRATA_BACKEND_H
#define STRATA_BACKEND_H

#include "codegen.h"
#include "target_rates.h"

struct Tables;
struct RowKernel;
struct Rows;

/* What tables and costs are told of a processor. */
typedef struct BackendRates {
    const char *cpu, *further; /* CompiledModel's cpu and features */
    uint64_t features;         /* those that code for it needs, FEATURE_.. of levels.h */
    int lanes;                 /* floats in a vector register */
    bool pairs;                /* products take pairs of bfloat16 */
    bool parts;                /* those of float32 take parts of numbers, in tiles */
    int64_t cache_bytes;       /* second-level cache of a core */
    const TargetRates *target;
} BackendRates;

typedef struct BackendCode BackendCode;

typedef struct Backend {
    /* Of the processor that is asked for.  STATUS_USER and one line: it is unknown. */
    int (*rates)(const CodegenOptions *o, BackendRates *out, Error *e);
    /* A model's code, of nothing as yet; NULL and one line in error. */
    BackendCode *(*begin)(const ModelInfo *info, const CodegenOptions *o, Error *e);
    void (*row_kernel)(BackendCode *c, const struct Rows *r, const struct RowKernel *k);
    /* Adds the tables, fills data, size, kernels and library of 'out', and frees the code. */
    int (*finish)(BackendCode *c, const struct Tables *t, CompiledModel *out, Error *e);
} Backend;

/* llvm/llvm_backend.c */
extern const Backend llvm_backend;

#endif
