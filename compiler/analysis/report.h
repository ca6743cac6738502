/* SPDX-License-Identifier: MIT
** What the compiler made of a spec, as numbers: the model, the plans of its
** programs, and what their steps compute and move.  'strata inspect' prints it,
** 'strata compare' sets several side by side.  Nothing here names a mixer.
**
** Work is counted per token, at the model's full context, as executed: a
** multiply-add is two operations, bytes are those of every operand and result of
** every kernel, counted once a call.  What a call reads once however many tokens
** it has (weights, sums) is shared by the batch * context tokens of the spec.
*/
#ifndef STRATA_REPORT_H
#define STRATA_REPORT_H

#include "codegen.h"
#include "error.h"
#include "json.h"
#include "rates.h"
#include "spec.h"

enum { FORWARD, TRAINING, WORKS }; /* reading without a loss; forward and backward */

typedef struct Work {
    int calls;
    double flops, bytes;
    double operations; /* of row kernels: strata_work */
    double functions;  /* RateWork's */
} Work;

typedef struct ReportKernel {
    const char *name, *family;
    bool openblas;    /* it is OpenBLAS's, but of few rows */
    Work work[WORKS]; /* all calls together */
    int plan, step;   /* its first call */
} ReportKernel;

typedef struct ReportFamily {
    const char *name;
    int kernels;
    Work work[WORKS];
} ReportFamily;

/* Bytes. */
typedef struct ReportMemory {
    int64_t weights, gradients, optimizer;
    int64_t packed;               /* weights again, as products of a training step take them */
    int64_t per_token;            /* of the arena: activations */
    int64_t per_worker, constant; /* of the arena: a thread's, and once */
    int64_t control;              /* tables of positions and the like */
    /* of a sequence that is being decoded: each token of its context; once, of which what
    ** operations over time carry */
    int64_t state_per_token, state_constant, state_carried;
} ReportMemory;

/* What the depth reads of the forward program move, in rows of width D per read, without the final
** read. */
typedef struct ReportTraffic {
    double all;    /* every row that their kernels read or write */
    double mixing; /* without the sublayers' normalised inputs */
} ReportTraffic;

/* A list of rows that a route makes. */
typedef struct RouteList {
    const char *site;
    double own; /* the share of all tokens that it says itself; NAN: tokens decide */
} RouteList;

/* The shares of tokens and the lengths of sequences for which a model with routes is shown. 0 of
** them: the routes' own shares, and some lengths around the context. */
enum { ROUTED_SHARES = 6, ROUTED_LENGTHS = 16 };
typedef struct RoutedOptions {
    int shares, lengths;
    double share[ROUTED_SHARES];
    int64_t length[ROUTED_LENGTHS];
} RoutedOptions;

/* A pass that ran, or was switched off, for a program (PROGRAMS: for all of them). */
typedef struct PassNote {
    PassId pass;
    int program;
    bool off;
    int before, nodes; /* nodes: after it */
    double seconds;
} PassNote;

typedef struct Report {
    Model *model;
    Planned planned;
    bool training, bf16; /* bf16: of --precision */
    Work work[WORKS];
    Rates rates;
    /* that the rates, of float32, allow a step or a pass of all the spec's tokens; 0: something
    ** else is multiplied */
    double seconds[WORKS];
    ReportMemory memory;
    int64_t trained, frozen; /* parameters that gradients train; tensors that are frozen */
    double sources_average;  /* of the reads before sublayers */
    int64_t sources_most;
    ReportTraffic traffic;
    ReportKernel *kernel; /* in the kernel table's order, those without calls left out */
    int nkernel;
    ReportFamily *family;
    int nfamily;
    struct Report *dense; /* the same spec without its routes; NULL: it has none, or nobody asked */
    RouteList *list;      /* by number, from 1 to lists */
    int lists;
    RoutedOptions asked;
    PassNote *pass; /* in order, in the model's memory */
    int npass;
    const PassId *wanted; /* 'after' is the graph after this pass; NULL: none is wanted */
    char *after;          /* as text; NULL: the pass did not run */
} Report;

typedef struct ReportOptions {
    const SpecLimits *limits; /* of reading it; NULL: the defaults */
    const char *cpu;          /* as for build; NULL: native */
    PassOptions passes;       /* as of build; the report is the observer */
    Products products;        /* as of build */
    const ProductRatios *ratios;
    const PassId *after; /* keeps the graph after this pass; NULL: none */
    const Rates *rates;  /* of this machine; NULL, or not measured: the defaults */
    bool routed;         /* with the dense twin of a model with routes */
    RoutedOptions asked; /* an error without routes, if there is anything in it */
} ReportOptions;

/* One call's work per token, of a step of a plan. */
Work report_step_work(const Report *r, int plan, int step);

double report_tokens(const Model *m);                     /* of a training step */
RateWork report_all_work(const Report *r, const Work *w); /* of all those tokens */
double report_update_bytes(const Report *r);              /* that an optimizer's step moves */
/* NULL, and the reason in e. */
Report *report_new(const char *spec, const ReportOptions *o, Error *e);
void report_free(Report *r);

/* traffic.c */
ReportTraffic report_traffic(const Report *r);

#endif
