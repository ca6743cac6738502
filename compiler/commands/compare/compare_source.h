/* SPDX-License-Identifier: MIT
** Where a comparison's numbers come from, noted as it is made. */
#ifndef STRATA_COMPARE_SOURCE_H
#define STRATA_COMPARE_SOURCE_H

#include "comparison.h"
#include "data_files.h"

/* Once all reports are there, before programs run; then after they did. */
int source_note(Comparison *c, const DataWords *data, const DataWords *val, Error *e);
void source_end(Comparison *c);

#endif
