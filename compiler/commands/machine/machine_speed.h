/* SPDX-License-Identifier: MIT
** Times small models to find this machine's rates (rates.h). */
#ifndef STRATA_MACHINE_SPEED_H
#define STRATA_MACHINE_SPEED_H

#include "allowance.h"
#include "rates.h"

/* 'folder' is for the programs. */
int machine_speed(const char *folder, Allowance *a, Rates *out, Error *e);

#endif
