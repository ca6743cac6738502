/* SPDX-License-Identifier: MIT
** A descriptor made by hand of a model with small weights: what the runtime reads of one.
** "a.weight" [2,40], "b.weight" [2,3,34], "embed.weight" [2,33], always of 8 bits, "norm" [3]. */
#ifndef TEST_ROUNDED_MODEL_H
#define TEST_ROUNDED_MODEL_H

#include "abi.h"

enum { ROUNDED_TENSORS = 4, ROUNDED_ROOM = 16384 }; /* floats of its WEIGHTS, at most */

/* bits 8 or 4; 0: one that was built without small weights. A call changes the one before. */
const strata_model *rounded_model(int bits);

#endif
