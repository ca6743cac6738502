/* SPDX-License-Identifier: MIT
** The weights of an export: a file of the model's parameters, as a checkpoint of one file. */
#include <stdlib.h>

#include "export.h"
#include "weight_tools.h"

int export_weights(Export *x, const Options *o, Error *e) {
    int status = weight_file_open(&x->file, x->weights, e);
    if (status) return status;
    status = weight_file_options(&x->file, x->model, o, x->spec, e);
    if (status) return status;
    int *number = malloc(((size_t)x->file.count + 1) * sizeof *number);
    CheckpointFolder *c = &x->folder;
    c->tensor = calloc((size_t)x->file.count + 1, sizeof *c->tensor);
    c->path = c->real = (char *)x->weights;
    c->file = &x->file;
    c->files = 1;
    if (!number || !c->tensor) status = error_memory(e, x->weights, (size_t)x->file.count * 32);
    if (!status) status = weight_file_match(&x->file, x->model, x->spec, number, e);
    for (int32_t i = 0; i < x->file.count && !status; i++)
        if (number[i] >= 0)
            c->tensor[c->count++] = (StoredTensor){ &x->file.tensor[i], &x->file, false };
    free(number);
    return status;
}
