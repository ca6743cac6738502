/* SPDX-License-Identifier: MIT
** eval --rope: how positions beyond the context turn (YaRN, arXiv 2309.00071).
*/
#ifndef STRATA_EVAL_ROPE_H
#define STRATA_EVAL_ROPE_H

#include "standalone.h"

/* The factor of "--rope yarn:F", from 1 to a million; 0 without the option.  An error where the
** model's positions do not turn. */
int eval_rope(const Program *p, double *factor, Error *e);

#endif
