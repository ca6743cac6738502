/* SPDX-License-Identifier: MIT
** The tables of a model under construction: program.c fills them, a back end writes them.
*/
#ifndef STRATA_TABLES_H
#define STRATA_TABLES_H

#include "backend.h"
#include "codegen.h"
#include "list.h"
#include "name_table.h"
#include "plan.h"
#include "program.h"
#include "rows.h"
#include "passes.h"
#include "sizes.h"
#include "table.h"

/* A parameter's place in WEIGHTS and among the gradients; of a probe's input in WEIGHTS only. */
typedef struct ParamPlace {
    const char *name;
    int64_t at, floats;
    int number, phase;   /* in the graph; after which the gradient is final */
    int tensor, tensors; /* in the tensor table: the first one, and how many */
    bool bf16;           /* kept as bfloat16 */
    int bits;            /* of small weights; 0: it is none */
    bool buffer;         /* no gradient trains it: they lie behind those that one trains */
    bool frozen;         /* it has no gradient: they lie behind all others */
    int64_t second;      /* among second moments; -1: it has none */
} ParamPlace;

/* What is where in WEIGHTS and TRAIN, in floats. */
typedef struct WeightLayout {
    bool some_bf16;      /* some of the parameters are kept as bfloat16 */
    bool some_small;     /* some are small weights */
    ParamPlace *param;   /* in order */
    int nparam, tensors; /* tensors: of all of them */
    ParamPlace *input;   /* of the probe: parameters behind the model's */
    int ninput;
    NameTable number, input_number; /* places in 'param' and 'input', by name */
    int64_t weights, weights_probe; /* all of them; with the probe's inputs */
} WeightLayout;

/* What is written: the tables of program.h. */
typedef struct TableBytes {
    Constants constants;
    ModelProgram program[PROGRAMS];
    List stage, action, ref, wave, cache, frequency, probe_result;
    List span;          /* of gradients that start as zeros */
    List repacked;      /* by tensor */
    List region, reach; /* --check builds */
} TableBytes;

/* A row kernel: the first step of its kind, which is emitted. */
typedef struct RowKernel {
    RowsIdentity identity;
    int number;
    char *name;
    const Plan *plan;
    int step;
    bool plain; /* it runs seldom: compiled fast and not optimised */
} RowKernel;

typedef struct RowKernels {
    List row;    /* RowKernel *, by number */
    Table known; /* those, by identity */
} RowKernels;

/* What the model costs. */
typedef struct KernelCosts {
    List kernel;      /* the kernel table */
    NameTable number; /* of its lines, by name */
    double flops[2];  /* per token: forward, training */
    Planned *planned; /* keeps what the steps of plans cost; NULL: nobody does */
} KernelCosts;

typedef struct Tables {
    const ModelInfo *info;
    BackendRates rates;
    bool inference;
    Products products;
    const ProductRatios *ratios;
    Small small;   /* which weights are small */
    int cache;     /* KEPT_..: what caches keep */
    int generates; /* the program whose attention has caches */
    bool forms;    /* the model generates otherwise than it is trained */
    WeightLayout layout;
    TableBytes bytes;
    RowKernels kernels;
    KernelCosts costs;
    void *model; /* the descriptor and its tables as bytes */
    size_t model_bytes;
} Tables;

/* What is particular to a program. */
typedef struct ProgramKind {
    int which;   /* PROGRAM_.. */
    int instead; /* what it is where it has no plan; -1: it is not there then */
    bool counts; /* its operations are those of a token forward */
    bool trains; /* gradients end with its phases; its products find weights packed */
    bool probes; /* it runs seldom: no part of what the model costs, nor worth compiling well */
    bool rules;  /* it makes new values of buffers, after a step */
} ProgramKind;

/* Fills the tables, and numbers the row kernels of all programs of the model.  The plans must live
** as long as the tables. */
void tables_build(Tables *t, const Graph *g, const ModelPlans *plans, const CodegenOptions *o);
void tables_free(Tables *t);
/* The descriptor and its tables as bytes. */
void *tables_descriptor(const Tables *t, const CodegenOptions *o, const CompiledModel *c,
                        const Graph *g, size_t *size);

/* actions.c: adds the action of a step; returns its row kernel, NULL if it is none */
Rows *action_add(Tables *t, const Plan *p, const ProgramKind *kind, int step, RowsShared shared);

/* row_kernels.c */
int row_kernel_number(Tables *t, Rows *r, bool plain);
/* Gives each kernel, in the order of their numbers, to a back end. */
void row_kernels_emit(const Tables *t, const Backend *to, BackendCode *code);
void free_row_kernels(RowKernels *k);

/* waves.c: where a table begins */
int64_t wave_add(Tables *t, const Attr *a);

/* regions.c, --check builds: a program's values as regions, before its steps are added;
** and where each reference of an action may be accessed */
void regions_add(TableBytes *b, const Plan *p, ModelProgram *out);
void regions_reach(TableBytes *b, const ModelProgram *out, const Action *a, const Rows *rows);

/* bf16_weights.c: which of g's parameters, by number, a build of bf16 that does not train keeps as
** bfloat16; 'probe' may be NULL */
bool *weights_as_bf16(const Graph *g, const Graph *probe);

/* params.c: WEIGHTS, in the order in which gradients become final; 'training' may be NULL */
void params_place(Tables *t, const Graph *g, const Plan *training);
void params_place_inputs(WeightLayout *l, const Graph *probe); /* behind them */
int64_t params_at(const WeightLayout *l, const char *name);    /* floats; -1: there is none */
int params_number(const WeightLayout *l, const Node *n);       /* of a parameter; -1: it is none */
bool params_bf16(const WeightLayout *l, const Node *n);        /* kept as bfloat16 */
int params_small(const WeightLayout *l, const Node *n);        /* bits of small weights, or 0 */
/* a product that is what is added first to a gradient */
bool params_first(const Plan *p, const Node *n);
void params_start(Tables *t, const Plan *training); /* fills t->bytes.span */
/* gradients to which the phase was the last to add */
void params_final(const WeightLayout *l, int phase, Stage *s);

/* product_choice.c: BLAS_.. of a product with w[m,k], float32 or not; and of an action, which is
** any */
int32_t product_choice(Tables *t, Orientation o, int64_t m, int64_t k, bool floats);
int32_t product_chosen(const Action *a);
const char *products_of(const Tables *t); /* as strata_model.blas says it */

/* chunk.c: how many tokens a task takes through the steps of a phase */
int chunk_of(const Tables *t, const Plan *p);

/* cost_products.c: multiply-adds per token that a product takes beyond its own. */
double cost_product_functions(const Tables *t, const Node *n);
/* cost.c: adds what one step does to the kernel table; 'kernel' and 'rows': of a row kernel. */
PlannedStep cost_add(Tables *t, const Plan *p, const ProgramKind *kind, int step,
                     const RowKernel *kernel, const Rows *rows);

#endif
