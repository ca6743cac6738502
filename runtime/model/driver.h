/* SPDX-License-Identifier: MIT
** Runs the phases of a program. */
#ifndef STRATA_DRIVER_H
#define STRATA_DRIVER_H

#include "frame.h"

void k_run_phase(Frame *f, const Stage *phase);

#endif
