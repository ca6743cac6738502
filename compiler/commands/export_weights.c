/* SPDX-License-Identifier: MIT
** The weights of an export: a file of the model's parameters, as a checkpoint of one file. */
#include <stdlib.h>
#include <string.h>

#include "export.h"

/* What a checkpoint has beside parameters. */
static bool is_beside(const char *name) {
    return !strncmp(name, "optimizer.", 10) || !strncmp(name, "tokenizer.", 10);
}

static int compare_shape(const Export *x, const Tensor *t, const Shape *s, Error *e) {
    char expected[200], found[200];
    bool same = t->rank == s->rank;
    int64_t dim[SAFETENSORS_RANK];
    for (int d = 0; d < s->rank; d++)
        dim[d] = s->dim[d];
    for (int d = 0; same && d < t->rank; d++)
        same = t->shape[d] == dim[d];
    if (same) return STATUS_OK;
    return error_set(e, STATUS_USER, "%s:%s: expected shape %s, found %s", x->weights, t->name,
                     shape_print(expected, s->rank, dim), shape_print(found, t->rank, t->shape));
}

static int find_parameters(Export *x, bool *wanted, Error *e) {
    const Graph *g = x->model->graph;
    char name[256];
    for (int k = 0; k < g->nparam; k++) {
        const Node *param = g->param[k].node;
        Shape s = param_tensor_shape(param);
        for (int64_t i = 0; i < param_tensors(param); i++) {
            param_tensor_name(param, i, name, sizeof name);
            const Tensor *t = safetensors_find(&x->file, name);
            if (!t)
                return error_set(e, STATUS_USER,
                                 "%s: expected a tensor '%s', which %s has, found "
                                 "none",
                                 x->weights, name, x->spec);
            int status = compare_shape(x, t, &s, e);
            if (status) return status;
            wanted[t - x->file.tensor] = true;
        }
    }
    return STATUS_OK;
}

int export_weights(Export *x, Error *e) {
    int status = safetensors_open(&x->file, x->weights, e);
    if (!status) status = safetensors_verify(&x->file, NULL, e);
    if (status) return status;
    bool *wanted = calloc((size_t)x->file.count + 1, sizeof *wanted);
    CheckpointFolder *c = &x->folder;
    c->tensor = calloc((size_t)x->file.count + 1, sizeof *c->tensor);
    c->path = c->real = (char *)x->weights;
    c->file = &x->file;
    c->files = 1;
    if (!wanted || !c->tensor) status = error_memory(e, x->weights, (size_t)x->file.count * 32);
    if (!status) status = find_parameters(x, wanted, e);
    for (int32_t i = 0; i < x->file.count && !status; i++) {
        const Tensor *t = &x->file.tensor[i];
        if (wanted[i]) c->tensor[c->count++] = (StoredTensor){ t, &x->file, false };
        else if (!is_beside(t->name))
            status = error_set(e, STATUS_USER, "%s: expected the parameters of %s, found '%s' too",
                               x->weights, x->spec, t->name);
    }
    free(wanted);
    return status;
}
