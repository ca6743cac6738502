/* SPDX-License-Identifier: MIT
** The file of measured rates, for those who read it (machine_rates.c) and who write it
** (machine_measure.c). */
#ifndef STRATA_RATES_FILE_H
#define STRATA_RATES_FILE_H

#include "machine_rates.h"

#include <stddef.h>

typedef struct RateMember {
    const char *key;
    size_t at;
    bool none; /* it may be 0 */
} RateMember;
enum { RATES_MEMBERS = 6 };
extern const RateMember rates_member[RATES_MEMBERS];
double *rates_rate(Rates *r, int i);

int rates_processors(void);
int rates_path(char *path, size_t size, Error *e);

#endif
