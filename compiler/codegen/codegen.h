/* SPDX-License-Identifier: MIT
** From the plans of a model's programs (pipeline.h) to machine code.  First the tables are filled
** that the driver executes, and row kernels are numbered (tables/); then a back end (backend.h)
** writes both.  The kernel library is part of the module, or it is an object from the compiler's
** own build and linked in.
*/
#ifndef STRATA_CODEGEN_H
#define STRATA_CODEGEN_H

#include "error.h"
#include "graph.h"
#include "pipeline.h"
#include "abi.h"
#include "probe_table.h"
#include "settings.h"

/* A row kernel has at most so many, each operation counted for one element: more than any read of
** a depth mixer has, less than what LLVM takes long for. */
enum { KERNEL_INSTRUCTIONS = 32768 };

/* EMIT_ROWS: assembly of the row kernels alone, as they are compiled for a link. */
typedef enum EmitKind {
    EMIT_EXE,
    EMIT_OBJ,
    EMIT_STATIC,
    EMIT_SHARED,
    EMIT_IR,
    EMIT_ASM,
    EMIT_ROWS
} EmitKind;

/* What an input or result of a probe is; see ProbeEntry. */
typedef struct ProbeFact {
    ProbeKind kind;
    int index, layer;
    const char *site; /* NULL: an input */
} ProbeFact;

/* A model's probe: inputs are parameters that the model lacks, results all outputs but the last
** one, "nll", and uniform; both in the graph's order. */
typedef struct ProbeGraph {
    Graph *graph;
    const ProbeFact *input, *result;
    int ninput, nresult;
    const int *layer; /* by the model's parameter; -1: of none */
} ProbeGraph;

/* What the front end knows of a model and the object's descriptor says. */
typedef struct ModelInfo {
    const char *name, *file, *tokenizer, *mixer;
    const char *options;     /* what the spec's options were, JSON; NULL: it has none */
    const ProbeGraph *probe; /* NULL: none */
    /* NULL, or what rules make of buffers: outputs are the gradients of those, and what they are
    ** made of is them and their statistics */
    const Graph *rules;
    const char *acausal; /* sublayer that sees later tokens; NULL: none */
    const char *ahead;   /* route that chooses among them; NULL: none */
    int64_t vocab, context, dim, layers, sublayers;
    uint64_t hash, function; /* function: of strata_model */
    Settings train;
} ModelInfo;

/* Who multiplies float32 matrices, but few rows of them: generated kernels, OpenBLAS, or for each
** product the one that takes less time by what was measured of this machine. */
typedef enum Products { PRODUCTS_GENERATED, PRODUCTS_OPENBLAS, PRODUCTS_AUTO } Products;

/* The products of a weight matrix w[m,k]: y = x w^T, dx = dy w, dw = dy^T x. */
typedef enum Orientation {
    PRODUCT_FORWARD,
    PRODUCT_BACK,
    PRODUCT_WEIGHT,
    ORIENTATIONS
} Orientation;

/* OpenBLAS's time over that of the generated one, at [m][k]: PRODUCT_SMALLEST, twice that, ... */
enum { PRODUCT_SMALLEST = 128, PRODUCT_SIZES = 5 };
typedef struct ProductRatios {
    double of[ORIENTATIONS][PRODUCT_SIZES][PRODUCT_SIZES];
    bool measured;
} ProductRatios;

/* Objects of row kernels that other builds made with this compiler, by a hash of what they are made
** of.  'find' gives the bytes, malloc'ed; 'keep' may be called by two threads at once. */
typedef struct KernelStore {
    bool (*find)(void *user, const char *key, void **data, size_t *size);
    void (*keep)(void *user, const char *key, const void *data, size_t size);
    void *user;
} KernelStore;

typedef struct CodegenOptions {
    const char *prefix;          /* of exported symbols */
    const char *cpu;             /* "native" or a name LLVM knows */
    const char *triple;          /* NULL: the host's */
    int level;                   /* 0 to 3 */
    Products products;           /* of float32; others are generated */
    const ProductRatios *ratios; /* PRODUCTS_AUTO's */
    int chunk;                   /* tokens per task, at most: 64, 128, ..; 0: as chunk.c finds */
    bool watch;                  /* functions tell what they do: see Watch */
    bool main;                   /* with a main() for libstrata */
    bool link;                /* the kernel library's object will be linked, where there is one */
    EmitKind emit;            /* EMIT_IR, EMIT_ASM, EMIT_ROWS, or an object */
    PassOptions passes;       /* 'check' also: test every access of row kernels */
    const KernelStore *store; /* of what is linked; NULL: none */
} CodegenOptions;

/* What an object made with 'watch' exports as PREFIX_watch.  Whoever sets the pointers is told
** every access to 'floats' numbers in memory and the operations on floats, by function. */
typedef struct Watch {
    void (*touch)(const char *function, const float *at, int64_t floats, int store);
    void (*work)(const char *function, int64_t operations);
} Watch;

/* Sizes in the name of a kernel, at most: those of strata_kernel. */
enum { KERNEL_SIZES = sizeof((strata_kernel *)0)->size / sizeof *((strata_kernel *)0)->size };

/* One line of the kernel table. */
typedef struct KernelInfo {
    const char *name, *family, *operation;
    int used, blas, sizes; /* as of strata_kernel */
    int64_t size[KERNEL_SIZES];
    strata_work training, forward;
} KernelInfo;

/* The compiled model, for the header and for printing. */
typedef struct CompiledModel {
    void *data; /* object, assembly or IR text */
    size_t size;
    void *kernels; /* an archive of row kernels, all to be linked with it; NULL: they are in it */
    size_t kernels_size;
    int library;        /* kernel_object() to be linked with it; -1: none */
    strata_model model; /* the descriptor's fixed part */
    const char *blas;   /* its string */
    KernelInfo *kernel;
    int nkernel;
    const char *cpu, *features; /* the level's name, and what it has beyond LLVM's processor */
} CompiledModel;

/* What "native" is on this machine, as --cpu takes it; NULL: too old a processor, which lacks what
** codegen_least() says. */
const char *codegen_native(void);
const char *codegen_least(void);
/* Whether code for a triple, or for none (NULL), is of this machine's kind of processor. */
bool codegen_is_host(const char *triple);
/* Whether a target has processors of this triple. */
bool codegen_has_target(const char *triple);
/* How wide the vectors of OpenBLAS' kernels for this processor are, in bits; 0: it is not known. */
int codegen_blas_bits(const char *core);
/* The processor to name in OPENBLAS_CORETYPE where kernels for 'core' leave half or more of this
** machine's vectors unused; NULL: none. */
const char *codegen_blas_better(const char *core);
/* LLVM's version, such as "22.1.0". */
void codegen_llvm(char *out, size_t size);
/* The file of the shared library that LLVM is in; NULL: it is in this program. */
const char *codegen_llvm_file(void);
/* What one call of a kernel computes and moves: per token, per (query, key) pair (a token has half
** the context's), and once. */
typedef struct StepCost {
    double flops_per_token, bytes_per_token, flops_per_pair, bytes_constant;
} StepCost;

/* A step of a plan: its line in the kernel table, and its cost.  'list': whose rows it works on,
** 'keys': whose rows the other side of its pairs is; 0: those of all tokens; 'operations': per
** token, as in strata_work; 'functions': RateWork's, per token of a full context. */
typedef struct PlannedStep {
    int kernel;
    StepCost cost;
    int list, keys;
    double operations, functions;
} PlannedStep;

/* A model's plans, and what codegen_compile would make of them, without the code. */
typedef struct Planned {
    ModelPlans plans;
    CompiledModel code;          /* the descriptor and the kernel table */
    PlannedStep *step[PROGRAMS]; /* by step of the plan */
    int lanes;
    bool tiles; /* products of float32 are of tiles */
} Planned;

/* STATUS_USER and one line for an unknown processor or system: to be asked before planning. */
int codegen_check(const CodegenOptions *o, Error *e);
/* Fills all of out but its plans, which are given; much faster than compiling.  Fails as
** codegen_compile does. */
int codegen_describe(Planned *out, const Graph *g, const ModelInfo *info, const CodegenOptions *o,
                     Error *e);
/* Compiles the plans of a model with graph g.  Fails for an unknown processor and the like. */
int codegen_compile(const ModelPlans *plans, const Graph *g, const ModelInfo *info,
                    const CodegenOptions *o, CompiledModel *out, Error *e);
void codegen_free(CompiledModel *c);

/* Levels, of which each has a kernel library; its name, such as "v3". */
int codegen_libraries(void);
const char *codegen_library_name(int library);
/* The library's object, for models compiled with 'link': to be made once, when the compiler is
** built. */
int codegen_library(int library, void **data, size_t *size, Error *e);

/* header.c: the model's C header */
void codegen_header(const CompiledModel *c, const ModelInfo *info, const char *prefix, FILE *f);

#endif
