/* SPDX-License-Identifier: MIT
** eval --beside: the result of another program's eval --json on the same data, such as that of
** float32 weights for comparison with small ones.
*/
#ifndef STRATA_EVALUATE_BESIDE_H
#define STRATA_EVALUATE_BESIDE_H

#include "json.h"

typedef struct Beside {
    const char *path; /* NULL: there is none */
    Json json;
} Beside;

/* 'path' may be NULL. */
int beside_open(Beside *b, const char *path, Error *e);
void beside_close(Beside *b); /* harmless on {0} */

/* Its loss over windows of a length, NaN without a file. A file that has none is an error, and, but
** for tokens 0, one of another number of tokens. */
int beside_loss(const Beside *b, int64_t length, int64_t tokens, double *loss, Error *e);

#endif
