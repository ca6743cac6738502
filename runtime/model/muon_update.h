/* SPDX-License-Identifier: MIT
** Muon on whole tensors. */
#ifndef STRATA_MUON_UPDATE_H
#define STRATA_MUON_UPDATE_H

#include "frame.h"

/* What of an update's settings is Muon's. */
int32_t k_muon_check(Context *c, const strata_adamw *how);
/* Moves a matrix by its gradient and its momentum; works behind muon_from in TRAIN. */
void k_muon_update(Context *c, float *w, float *train, int32_t tensor, const strata_adamw *how);

#endif
