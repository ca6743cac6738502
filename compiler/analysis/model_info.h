/* SPDX-License-Identifier: MIT
** What code generation needs to know about a model, from its spec.
*/
#ifndef STRATA_MODEL_INFO_H
#define STRATA_MODEL_INFO_H

#include "codegen.h"
#include "spec.h"

ModelInfo model_info(const Model *m);

#endif
