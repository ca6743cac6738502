/* SPDX-License-Identifier: MIT
** A model from its graph: planned, then described or compiled.
*/
#ifndef STRATA_PLANNED_H
#define STRATA_PLANNED_H

#include "codegen.h"

/* Plans and counts.  STATUS_USER and one line for an unknown processor; *out is then empty. */
int planned_make(const Graph *g, const ModelInfo *info, const CodegenOptions *o, Planned *out,
                 Error *e);
void planned_free(Planned *p);

/* Plans and compiles; *out is to be freed by codegen_free, where the status is 0. */
int planned_compile(const Graph *g, const ModelInfo *info, const CodegenOptions *o,
                    CompiledModel *out, Error *e);

#endif
