/* SPDX-License-Identifier: MIT
** Exporters: Lua functions in the sandbox of specs that turn a spec into another program's
** configuration and a plan of its tensors (specs/library/export/).
*/
#ifndef STRATA_EXPORTER_H
#define STRATA_EXPORTER_H

#include "gguf_file.h"
#include "spec.h"
#include "tensor_plan.h"

typedef struct ExportRequest {
    const char *spec;               /* path */
    const SpecLimits *limits;       /* what the command line chooses of its options, and seconds */
    const char *target;             /* "hf", "gguf" */
    const CheckpointFolder *folder; /* the parameters, by our names */
    bool keep;                      /* tensors stay in their type, else become float32 */
} ExportRequest;

typedef struct Exported {
    char refused[256];     /* why no architecture is this spec's; "": one is */
    char architecture[64]; /* "llama" */
    Text config;           /* hf: config.json */
    Gguf metadata;         /* gguf */
    TensorPlan plan;
} Exported;

/* Every parameter is used by the plan. On failure nothing stays allocated. */
int exporter_run(const ExportRequest *r, Exported *out, Error *e);
void exporter_free(Exported *out); /* harmless on {0} */

#endif
