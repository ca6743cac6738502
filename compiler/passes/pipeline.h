/* SPDX-License-Identifier: MIT
** From a model's graph to the plans of its programs: the passes of passes.def, one after
** another.  The graph is verified after every one of them.
*/
#ifndef STRATA_PIPELINE_H
#define STRATA_PIPELINE_H

#include "passes.h"
#include "plan.h"
#include "program.h"
#include "step.h"

typedef enum PassId {
#define PASS(letter, name, when, optional, help) PASS_##name,
#include "passes.def"
#undef PASS
    PASSES
} PassId;

typedef enum PassWhen {
    PASS_MODEL,
    PASS_PROGRAM,
    PASS_TRAINING,
    PASS_READING,
    PASS_BF16,
    PASS_SMALL,
    PASS_CACHE
} PassWhen;

typedef struct PassInfo {
    char letter;
    const char *name;
    PassWhen when;
    bool optional;
    const char *help;
} PassInfo;

extern const PassInfo pass_info[PASSES];

/* What happened to a pass. */
typedef struct PassEvent {
    PassId pass;
    int program;  /* PROGRAMS: a pass of the model */
    bool off;     /* switched off: it did not run */
    bool changed; /* the graph is another one, or has more nodes */
    int before;   /* nodes */
    double seconds;
    const Graph *g; /* after the pass, verified if it changed; valid during the call */
} PassEvent;

typedef struct PassObserver {
    void (*see)(void *user, const PassEvent *e);
    void *user;
} PassObserver;

typedef struct PassOptions {
    bool inference; /* no training step */
    bool bf16;      /* products take bfloat16 */
    Small small;    /* matrices of products become small weights; of inference only */
    int cache;      /* KEPT_..: what caches of keys and values keep */
    bool check;     /* no reuse of memory, guards around values */
    Keep keep;
    TwoPhase two_phase;
    unsigned off;                 /* optional passes that do not run: bit 1 << PassId */
    const PassObserver *observer; /* told of every pass that a program has; may be NULL */
    StepNote *step;               /* what runs is noted there; may be NULL */
    const Graph *of; /* plans_make's own: the model, its small weights, its training step */
    const int *bits;
    const Plan *training;
} PassOptions;

/* NULL where there is no such program: PROGRAM_TRAIN of inference, PROGRAM_GENERATE and
** PROGRAM_SCORE without a second form, PROGRAM_PROBE without a probe, PROGRAM_RULES of inference
** and without rules. */
typedef struct ModelPlans {
    Plan *plan[PROGRAMS];
} ModelPlans;

/* 'probe' and 'rules' may be NULL. */
ModelPlans plans_make(const Graph *g, const Graph *probe, const Graph *rules, const PassOptions *o);
void plans_free(ModelPlans *plans);

/* The pass whose name or letter is the first n characters of 'word'; PASSES if there is none. */
PassId pass_called(const char *word, size_t n);
/* "two_phase|simplify|..": the optional ones, or all. */
const char *pass_names(char *to, size_t size, bool optional);
/* "training", "model", ... */
const char *plan_name(int program);

#endif
