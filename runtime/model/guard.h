/* SPDX-License-Identifier: MIT
** A --check build's part of a call; called only if k_constants.check. */
#ifndef STRATA_GUARD_H
#define STRATA_GUARD_H

#include "frame.h"

void k_check_begin(Frame *f); /* before the first phase */
/* runs it */
void k_check_row(const Frame *f, const Action *s, int32_t worker, int64_t first, int64_t count);
void k_check_step(const Frame *f, const Action *s, int32_t worker); /* after a task of a step */
/* after a step of a token phase */
void k_check_free(const Frame *f, const Action *s, int32_t worker);
int32_t k_check_phase(const Frame *f, const Stage *phase); /* the status after it */
bool k_check_found(const Frame *f);

#endif
