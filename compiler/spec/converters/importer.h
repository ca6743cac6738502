/* SPDX-License-Identifier: MIT
** Importers: Lua functions in the sandbox of specs that turn a checkpoint's config.json and the
** list of its tensors into a spec's text and a plan of tensors (specs/library/importers.md).
*/
#ifndef STRATA_IMPORTER_H
#define STRATA_IMPORTER_H

#include "json.h"
#include "tensor_plan.h"

typedef struct ImportRequest {
    const CheckpointFolder *folder; /* its tensors are marked as they are used */
    const Json *config;             /* config.json */
    const char *importer;           /* path of a Lua file; NULL: the library's, by model_type */
    const char *name;               /* what is written is NAME.lua and so on, without its folder */
    const char *tokenizer;          /* what the spec says; NULL: nothing */
    bool keep;                      /* weights stay in their type */
    const char *residual, *route;   /* Lua text that the spec has in place of its own; NULL: none */
} ImportRequest;

/* Two tensors of the folder that have to be equal. */
typedef struct SamePair {
    const StoredTensor *one, *other;
} SamePair;

typedef struct Imported {
    Text spec;
    TensorPlan plan;
    SamePair *same;
    int32_t sames;
} Imported;

/* A Lua state with the library; NULL if there is no memory. importer_ask reports other failures; it
** may be called again unless the status was STATUS_LIMIT or more. */
struct Front *importer_open(void);
void importer_close(struct Front *f); /* NULL: nothing */
int importer_ask(struct Front *f, const ImportRequest *r, Imported *out, Error *e);

/* Makes all of these.  Afterwards every tensor of the folder is used or is listed as ignored by the
** importer.  On failure nothing stays allocated. */
int importer_run(const ImportRequest *r, Imported *out, Error *e);
void importer_free(Imported *out); /* harmless on {0} */

#endif
