/*
** Work of a model's kernels, from its kernel table.
*/
#ifndef STRATA_KERNEL_COST_H
#define STRATA_KERNEL_COST_H

#include "abi.h"

typedef struct Cost { double flops, bytes; } Cost;

/* A call on 'sequences' of 'length' tokens, causal. */
Cost kernel_cost(const strata_kernel *k, double sequences, double length);

/* Kernels of a training step, all together. */
double training_flops(const strata_model *m, double sequences, double length);

/* Reading sequences without training. */
double forward_flops(const strata_model *m, double sequences, double length);

#endif
