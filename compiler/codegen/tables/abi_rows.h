/* SPDX-License-Identifier: MIT
** The functions of a compiled model, the rows of runtime/abi.def as data. */
#ifndef STRATA_ABI_ROWS_H
#define STRATA_ABI_ROWS_H

/* Who has the function: every model; every one, but it works only in those that train;
** standalone programs. */
typedef enum ApiNeed { API_ALWAYS, API_TRAINING, API_PROGRAM } ApiNeed;

typedef struct ApiRow {
    const char *name, *member; /* PREFIX_name is the function, member its place in strata_api */
    const char *type, *parameters;
    ApiNeed need;
} ApiRow;

enum {
    API_ROWS = 0
#define API(slot, name, member, type, parameters, need) +1
#include "abi.def"
};

extern const ApiRow api_rows[API_ROWS];          /* in the order of a model's header */
extern const ApiRow *const api_member[API_ROWS]; /* in the order of strata_api */

#endif
