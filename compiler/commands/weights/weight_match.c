/* SPDX-License-Identifier: MIT
** Matches the tensors of a file of weights with the parameters of a spec.
*/
#include "weight_tools.h"

#include <string.h>

/* What a checkpoint has beside parameters. */
static bool is_beside(const char *name) {
    return !strncmp(name, "optimizer.", 10) || !strncmp(name, "tokenizer.", 10);
}

static int compare_shape(const Safetensors *s, const Tensor *t, const Shape *wanted, Error *e) {
    char expected[TENSOR_TEXT], found[TENSOR_TEXT];
    bool same = t->rank == wanted->rank;
    int64_t dim[SAFETENSORS_RANK];
    for (int d = 0; d < wanted->rank; d++)
        dim[d] = wanted->dim[d];
    for (int d = 0; same && d < t->rank; d++)
        same = t->shape[d] == dim[d];
    if (same) return STATUS_OK;
    return error_set(e, STATUS_USER, "%s:%s: expected shape %s, found %s", s->path, t->name,
                     shape_print(expected, wanted->rank, dim),
                     shape_print(found, t->rank, t->shape));
}

static int find_parameters(const Safetensors *s, const Model *m, const char *spec, int *number,
                           Error *e) {
    const Graph *g = m->graph;
    char name[256];
    for (int k = 0; k < g->nparam; k++) {
        const Node *param = g->param[k].node;
        Shape shape = param_tensor_shape(param);
        for (int64_t i = 0; i < param_tensors(param); i++) {
            param_tensor_name(param, i, name, sizeof name);
            const Tensor *t = safetensors_find(s, name);
            if (!t)
                return error_set(e, STATUS_USER,
                                 "%s: expected a tensor '%s', which %s has, found none", s->path,
                                 name, spec);
            int status = compare_shape(s, t, &shape, e);
            if (status) return status;
            number[t - s->tensor] = k;
        }
    }
    return STATUS_OK;
}

int weight_file_match(const Safetensors *s, const Model *m, const char *spec, int *number,
                      Error *e) {
    for (int32_t i = 0; i < s->count; i++)
        number[i] = -1;
    int status = small_file_refuse(s, e);
    if (!status) status = find_parameters(s, m, spec, number, e);
    for (int32_t i = 0; i < s->count && !status; i++)
        if (number[i] < 0 && !is_beside(s->tensor[i].name))
            status = error_set(e, STATUS_USER, "%s: expected the parameters of %s, found '%s' too",
                               s->path, spec, s->tensor[i].name);
    return status;
}
