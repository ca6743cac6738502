#ifndef STRATA_BLOBS_H
#define STRATA_BLOBS_H

#include <stddef.h>

/* The kernel library for vectors of 4, 8 or 16 floats. */
const char *blob_kernels(int lanes, size_t *size);

#endif
