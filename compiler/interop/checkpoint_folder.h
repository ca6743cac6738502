/* SPDX-License-Identifier: MIT
** The tensors of a folder of safetensors files, as Hugging Face's tools write it:
** model.safetensors, or model.safetensors.index.json and the files that it names.
** The folder is untrusted: the index is checked against the files, every file is a plain name in
** the folder, and what a name leads to must lie in it (or, where the folder is a snapshot of a
** download cache, among that cache's blobs).
*/
#ifndef STRATA_CHECKPOINT_FOLDER_H
#define STRATA_CHECKPOINT_FOLDER_H

#include "safetensors.h"

enum {
    FOLDER_SHARDS = 512,         /* files of an index */
    FOLDER_INDEX = 32 << 20,     /* bytes of one */
    FOLDER_CONFIG = 4 << 20,     /* bytes of config.json */
    FOLDER_CONFIG_VALUES = 20000 /* values in it */
};

/* A tensor and the file that has it. */
typedef struct StoredTensor {
    const Tensor *tensor;
    const Safetensors *file;
    bool used; /* by whoever looks it up */
} StoredTensor;

typedef struct CheckpointFolder {
    char *path, *real; /* as given; resolved */
    Safetensors *file;
    int32_t files;
    StoredTensor *tensor; /* by name, ascending bytes */
    int32_t count;
} CheckpointFolder;

/* Opens and checks everything but the values.  On failure nothing stays open or allocated. */
int folder_load(CheckpointFolder *c, const char *path, Error *e);
void folder_free(CheckpointFolder *c);                                  /* harmless on {0} */
StoredTensor *folder_find(const CheckpointFolder *c, const char *name); /* NULL: none */

/* The path of a plain file name in the folder, to be freed: checked as above.  *there tells
** whether there is such a file; if not, *path is NULL and nothing is wrong. */
int folder_file(const CheckpointFolder *c, const char *name, char **path, bool *there, Error *e);
/* A file's bytes, at most 'most', with room for one more behind them, to be freed. */
int folder_bytes(const char *path, size_t most, char **text, size_t *n, Error *e);
/* Parses a JSON file of the folder, at most 'bytes' and 'values' large; *there as above. */
int folder_json(const CheckpointFolder *c, const char *name, size_t bytes, uint32_t values, Json *j,
                bool *there, Error *e);

#endif
