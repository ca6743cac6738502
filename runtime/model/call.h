/* SPDX-License-Identifier: MIT
** The steps of a call, from its arguments to its loss. */
#ifndef STRATA_CALL_H
#define STRATA_CALL_H

#include "frame.h"

/* A status, with a message where there is a context to hold it.  'most': tokens of the call. */
int32_t k_check_call(Context *c, const void *w, const void *arena, const int32_t *tokens, int64_t B,
                     int64_t T, int64_t most);
int32_t k_check_targets(Context *c, const int32_t *targets, int64_t B, int64_t T);
int32_t k_call_phase(Frame *f, int32_t number);
int32_t k_call(Frame *f); /* all phases */
/* Whether the caller set the size of 'out', and with it what is asked of it. */
bool k_says(const strata_loss *out);
/* What it asks for has a meaning. */
int32_t k_check_loss(Context *c, const strata_loss *out);
void k_report(const Frame *f, strata_loss *out);

#endif
