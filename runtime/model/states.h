/* SPDX-License-Identifier: MIT
** The caches of sequences during a call. */
#ifndef STRATA_STATES_H
#define STRATA_STATES_H

#include "frame.h"

/* whether so many tokens more fit */
int32_t k_check_state(Context *c, State *s, int64_t more);
int32_t k_check_batch(Context *c, State *const *states, int32_t batch);
/* keys and values of this call's tokens become rows; the status says if there is room */
int32_t k_append(Frame *f, const Action *s, int attention_step, const Attention *a);
/* the same of what must not replace rows of rings before the queries have seen them */
void k_append_later(const Frame *f, const Attention *a);
/* Floats of fixed size that operations over time carry of a sequence: each has its part of them,
** reads it as its past and leaves there what the next call's past is (program.h, 'carry'). */
static inline float *state_carried(State *s) { return (float *)(s + 1); }
void k_begin_sequences(const Frame *f); /* before a call's first phase */
void k_advance(const Frame *f);         /* after a call that succeeded: its rows count */
void k_restore(const Frame *f);         /* after one that did not */

#endif
