/* SPDX-License-Identifier: MIT
** A descriptor made by hand: what the runtime reads of a compiled model, without one.
** Four parameters whose order in TRAIN is the reverse of that in WEIGHTS.
*/
#ifndef TEST_LITTLE_MODEL_H
#define TEST_LITTLE_MODEL_H

#include "abi.h"

enum { LITTLE_PARAMETERS = 6 * 4 + 4 + 3 + 1 };

/* Static storage, the same at every call: do not write to it. */
const strata_model *little_model(void);

#endif
