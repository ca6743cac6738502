/* SPDX-License-Identifier: MIT
** The driver's functions for one action: in a token phase for some rows, in a global phase for one
** task.
*/
#ifndef STRATA_ACTIONS_H
#define STRATA_ACTIONS_H

#include "frame.h"

/* The rows of a token phase that a task has. */
typedef struct TaskWork {
    const Frame *f;
    int32_t worker;
    int64_t first, count;
    int64_t m0, m1; /* few rows: columns of a product; m1 < 0: all */
    int32_t runs;   /* the worker that runs it, in whose scratch it works */
} TaskWork;

/* A task of a global phase. */
typedef struct GlobalWork {
    const Frame *f;
    int64_t task; /* of the action; counting needs none */
    int32_t worker;
    int attention_step; /* which attention of the phase */
} GlobalWork;

/* What anchors.def names: what does the rows of a task; how many tasks there are, and one. */
#define TOKEN_RUN(run) void k_run_##run(const TaskWork *w, const Action *s);
#define GLOBAL_RUN(run)                                          \
    int64_t k_count_##run(const GlobalWork *w, const Action *s); \
    void k_run_##run(const GlobalWork *w, const Action *s);
#define AFTER_RUN(run)
#define ACTION(action, member, phase, run, ...) phase##_RUN(run)
#define ANCHOR(op, action, member, results, set, phase, run, ...) phase##_RUN(run)
#include "anchors.def"
#undef TOKEN_RUN
#undef GLOBAL_RUN
#undef AFTER_RUN

/* Operand i of an action, at the task's first row; NULL if there is none. */
static inline float *work_row(const TaskWork *w, const Action *s, int i) {
    const Ref *r = &k_refs[s->ref + i];
    float *p = k_resolve(w->f, r, w->worker, w->first);
    return p ? p + w->first * r->stride : 0;
}

static inline int64_t stride_of(const Action *s, int i) { return k_refs[s->ref + i].stride; }

/* Actions that share a function have the references that it reads at the same places. */
#define SAME_REF(action, name, other, other_name) \
    _Static_assert(REF(action, name) == REF(other, other_name), "references of one function")
SAME_REF(LINEAR, x, LINEAR_BACK, dy);
SAME_REF(LINEAR, w, LINEAR_BACK, w);
SAME_REF(PICK, x, LARGEST, x);
SAME_REF(PICK, x, CHOSEN, mask);
SAME_REF(PICK, x, PLACE, y);
SAME_REF(PICK, places, PLACE, places);
SAME_REF(EXPERT_LINEAR, x, EXPERT_BACK, dy);
SAME_REF(EXPERT_LINEAR, w, EXPERT_BACK, w);
SAME_REF(EXPERT_LINEAR, order, EXPERT_BACK, order);
#undef SAME_REF

/* token_actions.c; k_token_action and k_global_action tell who profiles, and check */
void k_token_action(const TaskWork *w, const Action *s);

/* products.c: packing of weights before a phase, by blocks of columns.  No tasks: it is no product,
** or its weights lie packed already, or each task packs what it needs. */
int64_t k_pack_tasks(const Frame *f, const Action *s);
void k_pack_task(const Frame *f, const Action *s, int64_t task, int32_t worker);

/* global_actions.c */
/* before any task of the phase; false: f->status says why it failed */
bool k_global_begin(Frame *f, const Action *s, int attention_step);
void k_attention_end(const Frame *f, const Action *s, int attention_step); /* in decoding */
int64_t k_global_tasks(const GlobalWork *w, const Action *s);
void k_global_action(const GlobalWork *w, const Action *s);

/* history_actions.c; after all tasks of the phase: what states carry to the next call */
void k_global_end(const Frame *f, const Action *s);

#endif
