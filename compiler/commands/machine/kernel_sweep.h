/* SPDX-License-Identifier: MIT */
#ifndef STRATA_KERNEL_SWEEP_H
#define STRATA_KERNEL_SWEEP_H

#include <stdint.h>

/* What names of files begin with that are being written. */
#define KERNEL_FRESH "new-"

/* If a folder of kernels has more bytes than that, the files that were not used for longest go,
** until a quarter of it is free; and those that commands left that were killed: their number. */
int kernel_sweep(int folder, int64_t most);

#endif
