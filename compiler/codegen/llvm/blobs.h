/* SPDX-License-Identifier: MIT */
#ifndef STRATA_BLOBS_H
#define STRATA_BLOBS_H

#include <stddef.h>

/* A kernel library, by the number in target.c's table of levels. */
const char *blob_kernels(int library, size_t *size);
/* What is in a model that is linked to the rest: functions that row kernels call, and main. */
const char *blob_called(int library, size_t *size);

#endif
