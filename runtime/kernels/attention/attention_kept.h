/* SPDX-License-Identifier: MIT
** attention_kept.c: rows that caches store in other types than float32 (kept_rows.h).
*/
#ifndef STRATA_ATTENTION_KEPT_H
#define STRATA_ATTENTION_KEPT_H

#include "kept_rows.h"

/* n rows become those of a cache, at 'to' */
void k_keep_rows(int kept, int64_t n, int64_t d, const float *rows, int64_t ld, float *to);
/* out[n][d] = rows of a cache, out's rows whole vectors apart, zeros at their ends; 'bf16': rounded
** to that */
void k_kept_rows(int kept, int bf16, int64_t n, int64_t d, const float *rows, float *out);
/* The same of what a cache would keep of rows. */
void k_rows_as_kept(int kept, int bf16, int64_t n, int64_t d, const float *rows, int64_t ld,
                    float *out);

#endif
