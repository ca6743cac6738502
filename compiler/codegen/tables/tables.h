/* The tables of a model in the making: program.c fills them, module.c emits them. */
#ifndef STRATA_TABLES_H
#define STRATA_TABLES_H

#include "codegen.h"
#include "plan.h"
#include "program.h"
#include "rows.h"
#include "sizes.h"

/* A row kernel to be emitted: the first of its kind. */
typedef struct RowKernel {
    char *identity, *name;
} RowKernel;

typedef struct List {
    void *data;
    int n, cap;
} List;

typedef struct Tables {
    const ModelInfo *info;
    Program program[PROGRAMS];
    List stage, action, ref, wave, cache, frequency, kernel, row, probe_result;
    List span;          /* of gradients that start as zeros */
    List region, reach; /* --check builds */
    Constants constants;
    const char **param; /* in the order of weights and gradients */
    int64_t *param_at;
    int *param_phase; /* after which the gradient is final */
    bool *param_half; /* kept as bfloat16 */
    int nparam;
    Kept *kept;         /* by parameter */
    int64_t weights;    /* floats */
    const char **input; /* of the probe: parameters behind the model's */
    int64_t *input_at;
    int ninput;
    int64_t weights_probe; /* floats, with them */
    double flops[2];       /* per token: forward, training */
    struct Emit *emit[2];  /* where row kernels are written, shared out evenly; NULL: not there */
    int64_t emitted[2];    /* instructions there */
    int generates;         /* the program whose attention has caches */
    bool probing;          /* row kernels are the probe's */
    bool keeping;          /* products' weights are kept packed by the optimizer */
    Planned *planned;      /* keeps the plans and what their steps cost; NULL: nobody does */
    int lanes;
    int64_t cache_bytes; /* second-level cache of a core */
    bool pairs;          /* products take pairs of bfloat16 */
    bool inference;
} Tables;

void *list_add(List *l, size_t size); /* a zeroed element; NULL never: exits 3 */
#define LIST(l, type, i) (((type *)(l).data)[i])

/* Emits the row kernels of all programs of the model, fills the tables.  The plans are freed, or
** pass to t->planned. */
void tables_build(Tables *t, const Graph *g, const ModelPlans *plans, const CodegenOptions *o);
void tables_free(Tables *t);
/* The descriptor and its tables as bytes. */
void *tables_descriptor(const Tables *t, const CodegenOptions *o, const Code *c, const Graph *g,
                        size_t *size);

/* regions.c, --check builds: a program's values as regions, before its steps are added;
** and where each reference of an action may be accessed */
void regions_add(Tables *t, const Plan *p, Program *out);
void regions_reach(Tables *t, const Program *out, const Action *a, const Rows *rows);

/* bf16_weights.c: whether a build of bf16 that does not train keeps a parameter as bfloat16;
** 'probe' may be NULL */
bool weight_is_half(const Graph *g, const Graph *probe, const Node *param);

/* params.c: WEIGHTS, in the order in which gradients become final; 'training' may be NULL */
void params_place(Tables *t, const Graph *g, const Plan *training);
void params_place_inputs(Tables *t, const Graph *probe); /* behind them */
int64_t params_at(const Tables *t, const char *name);    /* floats; -1: there is none */
int params_number(const Tables *t, const Node *n);       /* of a parameter; -1: it is none */
bool params_half(const Tables *t, const Node *n);        /* a parameter that is kept as bfloat16 */
/* a product that is what is added first to a gradient */
bool params_first(const Plan *p, const Node *n);
void params_start(Tables *t, const Plan *training); /* fills t->span */
/* gradients to which the phase was the last to add */
void params_final(const Tables *t, int phase, Stage *s);

/* chunk.c: how many tokens a task takes through the steps of a phase */
int chunk_of(const Tables *t, const Plan *p);

/* cost.c: adds what one step does to the kernel table. */
PlannedStep cost_add(Tables *t, const Plan *p, const Rows *rows, int step, int row, int program);

#endif
