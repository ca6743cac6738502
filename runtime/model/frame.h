/* SPDX-License-Identifier: MIT
** Shared by the model's functions: the control block, a sequence's state, and the frame of one
** call of a program, with functions that find operands, a worker's scratch, and the workers.
*/
#ifndef STRATA_FRAME_H
#define STRATA_FRAME_H

#include <stdbool.h>

#include "abi.h"
#include "kernels.h"
#include "processor.h"
#include "sizes.h"

/* Floats behind a worker's scratch in --check builds. */
enum { SCRATCH_GUARD = 16 };

/* The control block at the start of CTX; the tables follow, aligned. */
typedef struct Context {
    uint64_t stamp; /* READY, or REFUSED: init found something to say, in 'message' */
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
    int64_t rows;        /* that caches of routed layers have room for */
    uint64_t seal;       /* of hash, context and rows, which say where everything lies */
    int64_t mark;        /* while a batch is checked: its place there from 1 on; else 0 */
    int64_t reserved[2]; /* zero */
} State;

_Static_assert((int)ATTENTION_FEW == (int)STRATA_BACK, "what extend appends attends one by one");
_Static_assert(sizeof(State) == STATE_HEAD, "caches lie where the descriptor says");

static const uint64_t READY = 0x5354524154413031u, REFUSED = 0x5354524154413030u;

static inline const strata_model *model(void) { return (const strata_model *)k_model; }

/* What this model writes into a control block for READY or REFUSED.  Another one that is built from
** the same spec has its tables elsewhere, and perhaps other ones. */
static inline uint64_t stamp_of(uint64_t word) {
    return word ^ model()->spec_hash ^ (uint64_t)(uintptr_t)k_model;
}

/* Whether it is a control block that this model's init prepared. */
static inline bool is_prepared(const Context *c) {
    return c && (uintptr_t)c % STRATA_ALIGN == 0 && c->stamp == stamp_of(READY);
}

/* One call of a program. */
typedef struct Frame {
    Context *ctx;
    const ModelProgram *program;
    const float *weights;
    float *gradients;
    float *token, *granule, *constant, *local;
    float *packed;           /* weights of a token phase; NULL: each task packs what it needs */
    const Stage *packed_for; /* whose weights lie there already; NULL: of none */
    int32_t whole_phases;    /* phases, the first ones, that go through all tokens */
    /* those that the optimizer left packed; NULL: they may not be what weights are */
    const float *repacked;
    int32_t *position;
    const int32_t *tokens, *targets;
    float *logits;
    float uniform[3];
    uint64_t draw;     /* which random numbers; 0: none */
    int64_t draw_from; /* of a larger batch's tokens, the first one here */
    int64_t N, padded; /* tokens; rounded up to whole granules */
    int64_t B, T;
    int64_t from;         /* first token that token phases work on */
    int64_t local_floats; /* of one worker, scratch included */
    int64_t aside;        /* offset in it of what attention puts aside */
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

static inline float *context_tables(Context *c) {
    return (float *)((char *)c + ((sizeof *c + 63) & ~(size_t)63));
}
_Static_assert(((sizeof(Context) + 63) & ~(size_t)63) <= STRATA_CTX_HEAD,
               "the control block fits before the tables");

/* Where an operand lies: the row of its first token, or for what a worker has of its own, where
** that would be if its row 'first' is the first one there. */
float *k_resolve(const Frame *f, const Ref *r, int32_t worker, int64_t first);
/* The same of all operands of an action. */
void k_resolve_all(const Frame *f, const Action *s, int32_t worker, int64_t first, float **p);
/* Runs tasks on all workers; on this thread if there is one, or one task. */
void k_par_for(Context *c, int64_t tasks, strata_task_fn fn, void *arg);

static inline float *frame_scratch(const Frame *f, int32_t worker) {
    return f->local + worker * f->local_floats + f->scratch;
}

/* Whether OpenBLAS multiplies here: 'blas' is an action's. */
static inline bool frame_blas(const Frame *f, int32_t blas) {
    if (blas == BLAS_CANNOT || !k_constants.blas) return false;
    uint32_t flags = f->ctx->setup.flags;
    return !(flags & STRATA_NO_BLAS) && (blas == BLAS_DOES || flags & STRATA_ALL_BLAS);
}

/* Rows of a list, or tokens. */
static inline int64_t frame_rows(const Frame *f, int32_t list) {
    return list ? f->list[list].count : f->N;
}

/* Tells who asked that an action begins or ends. */
static inline void frame_profile(const Frame *f, const Action *s, int32_t begin, int32_t worker) {
    const strata_setup *u = &f->ctx->setup;
    if (u->profile && s->profile >= 0) u->profile(u->profile_user, s->profile, begin, worker);
}

#endif
