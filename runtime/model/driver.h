/* What the files of a model's functions share: a call's frame. */
#ifndef STRATA_DRIVER_H
#define STRATA_DRIVER_H

#include <stdbool.h>

#include "abi.h"
#include "kernels.h"
#include "sizes.h"

/* The functions of abi.h. */
#define EXPORT __attribute__((visibility("default"), used))

/* Floats behind a worker's scratch in --check builds. */
enum { SCRATCH_GUARD = 16 };

/* The control block at the start of CTX; the tables follow, aligned. */
typedef struct Context {
    uint64_t magic;
    strata_setup setup;
    char message[256];
    double sums[256]; /* partial results of sum_squares */
    int64_t length;   /* rows of a table: the longest sequence */
    int32_t stray;    /* --check builds: something was found, the message says what */
} Context;

/* A sequence's state: this, then the caches. */
typedef struct State {
    uint64_t hash;
    int64_t context, length;
    int64_t rows; /* that caches of routed layers have room for */
    int64_t reserved[4];
} State;

_Static_assert(sizeof(State) == STATE_HEAD, "caches lie where the descriptor says");

static const uint64_t READY = 0x5354524154413031u;

static inline const strata_model *model(void) { return (const strata_model *)k_model; }

/* One call of a program. */
typedef struct Frame {
    Context *ctx;
    const Program *program;
    const float *weights;
    float *gradients;
    float *token, *granule, *constant, *local;
    float *packed; /* weights of a token phase; NULL: each task packs what it needs */
    /* those that the optimizer left packed; NULL: they may not be what weights are */
    const float *kept;
    int32_t *position;
    const int32_t *tokens, *targets;
    float *logits;
    float uniform[3];
    uint64_t draw;     /* which random numbers; 0: none */
    int64_t N, padded; /* tokens; rounded up to whole granules */
    int64_t B, T;
    int64_t from;         /* first token that token phases work on */
    int64_t local_floats; /* of one worker, scratch included */
    int64_t scratch;      /* offset of the scratch in it */
    bool accumulate;      /* gradients are added to those that are there */
    int few;              /* few rows: split products by columns */
    /* cached attention; NULL otherwise */
    State *const *states;
    float **keys, **values; /* [attention steps of a phase][B] */
    int64_t *past;    /* [attention steps of a phase][B]: rows of a cache before this call's */
    RowList *list;    /* by number, from 1 on */
    int32_t status;   /* of a phase */
    int32_t appended; /* caches that have rows of this call, the first ones */
} Frame;

/* Round to nearest, no traps, no flushing: what the bits are defined for.  Every
** task and whatever else computes with floats is between these two. */
static inline unsigned enter_mode(void) {
    unsigned old = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return old;
}

static inline void leave_mode(unsigned old) { __builtin_ia32_ldmxcsr(old); }

static inline float *context_tables(Context *c) {
    return (float *)((char *)c + ((sizeof *c + 63) & ~(size_t)63));
}
_Static_assert(((sizeof(Context) + 63) & ~(size_t)63) <= STRATA_CTX_HEAD,
               "the control block fits before the tables");

void k_run_phase(Frame *f, const Stage *phase);
float *k_resolve(const Frame *f, const Ref *r, int32_t worker, int64_t first);
/* states.c */
/* whether so many tokens more fit */
int32_t k_check_state(Context *c, const State *s, int64_t more);
int32_t k_check_batch(Context *c, State *const *states, int32_t batch);
int32_t k_append(Frame *f, const Action *s, int attention_step, const Attention *a);
void k_advance(const Frame *f); /* after a call that succeeded: its rows count */
void k_restore(const Frame *f); /* after one that did not */
void k_par_for(Context *c, int64_t tasks, strata_task_fn fn, void *arg);
/* guard.c: called only if k_constants.check */
void k_check_begin(Frame *f); /* before the first phase */
/* runs it */
void k_check_row(const Frame *f, const Action *s, int32_t worker, int64_t first, int64_t count);
void k_check_step(const Frame *f, const Action *s, int32_t worker); /* after a task of a step */
/* after a step of a token phase */
void k_check_free(const Frame *f, const Action *s, int32_t worker);
int32_t k_check_phase(const Frame *f, const Stage *phase); /* the status after it */
bool k_check_found(const Frame *f);
/* 0: the processor has every feature in k_constants.cpu; else a feature's name */
const char *k_cpu_missing(void);

#endif
