/* SPDX-License-Identifier: MIT */
#ifndef STRATA_CPU_H
#define STRATA_CPU_H

/* NULL: the processor has every feature in k_constants.cpu; else a feature's name. */
const char *k_cpu_missing(void);

#endif
