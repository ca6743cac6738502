/* SPDX-License-Identifier: MIT
** The work of a model's kernels in FLOPs and bytes, from its kernel table.
*/
#ifndef STRATA_KERNEL_COST_H
#define STRATA_KERNEL_COST_H

#include "abi.h"

typedef struct Cost {
    double flops, bytes;
} Cost;

/* A call on 'sequences' of 'length' tokens, causal. */
Cost work_cost(const strata_work *w, double sequences, double length);

/* A prefill of one prompt. */
Cost prompt_cost(const strata_work *w, double length);

/* Kernels of a training step, all together. */
double training_flops(const strata_model *m, double sequences, double length);

#endif
