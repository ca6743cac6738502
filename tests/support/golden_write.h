/* SPDX-License-Identifier: MIT
** Writing a golden case (golden.h reads it).  Aborts if it cannot. */
#ifndef TESTS_GOLDEN_WRITE_H
#define TESTS_GOLDEN_WRITE_H

#include <stdint.h>

typedef struct GoldenOut GoldenOut;

GoldenOut *golden_out_new(void);
/* Values are copied; doubles are rounded to float32. */
void golden_out_values(GoldenOut *o, const char *name, int rank, const int64_t *shape,
                       const double *values);
void golden_out_ids(GoldenOut *o, const char *name, int rank, const int64_t *shape,
                    const int32_t *ids);
void golden_out_number(GoldenOut *o, const char *name, double value);
void golden_out_write(GoldenOut *o, const char *path); /* and frees it */

#endif
