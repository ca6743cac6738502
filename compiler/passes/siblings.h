/* SPDX-License-Identifier: MIT
** Which row nodes run in one kernel, although no product between them waits for all of them.
*/
#ifndef STRATA_SIBLINGS_H
#define STRATA_SIBLINGS_H

#include "slots.h"

/*
** Regions of row nodes in different slots of a phase that read the same values become one kernel,
** which goes over those once: those of the forward part in the earlier slot, as three reads of one
** site do, which only the products between them kept apart; those of the backward part in the
** later one.  Changes 'time' and 'partial'.
*/
void siblings_join(Graph *g, Slots *s);

#endif
