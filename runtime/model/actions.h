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
void k_row_action(const TaskWork *w, const Action *s);

/* products.c */
void k_product_action(const TaskWork *w, const Action *s);
void k_each_action(const TaskWork *w, const Action *s); /* of parts m0 ... m1 - 1 */
/* Packing of weights before a phase, by blocks of columns.  No tasks: it is no product, or its
** weights lie packed already, or each task packs what it needs. */
int64_t k_pack_tasks(const Frame *f, const Action *s);
void k_pack_task(const Frame *f, const Action *s, int64_t task, int32_t worker);

/* recurrence_actions.c; a model without any has none of its kernels */
int64_t k_recurrence_action_tasks(const Frame *f, const Action *s);
void k_recurrence_task(const Frame *f, const Action *s, int64_t task, int32_t worker);

/* expert_actions.c */
int64_t k_expert_action_tasks(const Frame *f, const Action *s);
void k_expert_task(const Frame *f, const Action *s, int64_t task, int32_t worker);

/* global_actions.c; attention_step: which attention of the phase */
/* before any task of the phase; false: f->status says why it failed */
bool k_global_begin(Frame *f, const Action *s, int attention_step);
void k_attention_end(const Frame *f, const Action *s, int attention_step); /* in decoding */
int64_t k_global_tasks(const Frame *f, const Action *s, int attention_step);
void k_global_action(const Frame *f, const Action *s, int64_t task, int32_t worker,
                     int attention_step);
/* after all tasks of the phase: what states carry to the next call */
void k_global_end(const Frame *f, const Action *s);

/* history_actions.c: the same for operations over time whose past is of a fixed size */
int64_t k_history_tasks(const Frame *f, const Action *s);
void k_history_task(const Frame *f, const Action *s, int64_t task);

#endif
