/* SPDX-License-Identifier: MIT
** Shared by the views of a plan: its steps as places in the model.
*/
#ifndef STRATA_REPORT_WORK_H
#define STRATA_REPORT_WORK_H

#include "plan.h"

/* The anchor whose side result n is; n itself otherwise. */
const Node *work_owner(const Node *n);
/* The step that computes what is stored as n; -1: none, a source. */
int work_step(const Plan *p, const Node *n);
/* The place of a step in the model: the site of what it computes last; never NULL. */
const char *work_site(const Step *s);
/* The first anchor of the backward part, the gradient of the loss; nstep if there is none.  Row
** kernels before it may compute small values for it. */
int work_backward(const Plan *p);

#endif
